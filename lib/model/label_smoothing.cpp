// See label_smoothing.h.
#include "lib/model/label_smoothing.h"

#include <cmath>

#include "lib/core/names.h"

namespace bigbird {

std::string name_of(SmoothingForm form) {
  return find_name(smoothing_names, form);
}

SmoothingForm parse_smoothing_form(const std::string& name) {
  return parse_name(smoothing_names, name, "form of label smoothing");
}

double LabelSmoothing::other_share(std::int64_t classes) const {
  const auto count = static_cast<double>(classes);
  if (form == SmoothingForm::huggingface) return epsilon / count;
  return classes > 1 ? epsilon / (count - 1.0) : 0.0;
}

double LabelSmoothing::entropy(std::int64_t classes) const {
  if (form == SmoothingForm::huggingface || epsilon == 0.0) return 0.0;
  constexpr double small = 1e-20;  // theirs
  const double own = own_share(classes);
  return -(own * std::log(own) + epsilon * std::log(other_share(classes) + small));
}

}  // namespace bigbird
