// Unicode's normalisation forms and grapheme clusters over UTF-8, for the steps of tokenizers that need them.
// Tables are those of the ICU that the program runs with. Texts are valid UTF-8.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace bigbird {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

// Cuts a text where no normalisation reaches across and hands every part to part(before, after): `before` is
// a view into the text, `after` what the form makes of it.
void for_each_normalized(std::string_view text, NormalForm form,
                         const std::function<void(std::string_view before, const std::string& after)>& part);

// Hands the extended grapheme clusters of a text (UAX 29) to take() in order.
void for_each_grapheme(std::string_view text, const std::function<void(std::string_view)>& take);

}  // namespace bigbird
