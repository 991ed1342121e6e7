// Private to lib/io: what becomes of a line of VCF when htslib makes a BCF record of it. Values that do not
// fit the type that the header declares (1.22e+06 of an Integer, "." of a genotype that is declared an
// Integer, 1e-300 of a Float) are changed there without a word, so the record is written as text again and
// compared.
#pragma once

#include <string>
#include <string_view>

namespace bigbird {

// The first value of `line` that is another one in `made`, the text of the record that was made of it, in
// words ("INFO/DP=1.22e+06 would become 1"); empty where there is none. Numbers are compared as numbers, to
// the six digits that `made` has; missing values at the ends of samples and empty entries of INFO say
// nothing.
std::string changed_value(std::string_view line, std::string_view made);

}  // namespace bigbird
