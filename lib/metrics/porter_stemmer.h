// The stems of English words as NLTK's PorterStemmer gives them by default, which is what ROUGE's published
// numbers stand on: Porter (1980) with NLTK's extensions (irregular words, -ied, two-letter words).
#pragma once

#include <string>
#include <string_view>

namespace bigbird {

// `word`: small letters a-z and digits; a digit counts as a consonant.
std::string porter_stem(std::string_view word);

}  // namespace bigbird
