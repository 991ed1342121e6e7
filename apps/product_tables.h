// Where the measured algorithms of products lie (kernels/product_table.h): one file for each device and
// version of cuBLASLt, in the user's cache folder.
#pragma once

#include <string>

#include "kernels/product_table.h"

namespace bigbird::apps {

// "HOME/.cache/bigbird/products-nvidia-h200-cublaslt-13.0.2.tsv" (XDG_CACHE_HOME instead of HOME/.cache where
// it is set), or what the environment says in BIGBIRD_PRODUCT_TABLE. Empty: there is no such folder, or
// BIGBIRD_PRODUCT_TABLE is "none".
std::string product_table_path(const std::string& device, const std::string& library);

// The table of that device and library; without rows where there is no file, or, with a warning, where the
// file is of another device or library. Error{bad_input} for a file that is broken.
kernels::ProductTable read_product_table(const std::string& device, const std::string& library);

// Puts these rows into the file, in place of those it has of the same products; a file that is broken or of
// another device or library is overwritten. Returns its path. Error{environment} where there is no place.
std::string write_product_table(const kernels::ProductTable& table);

}  // namespace bigbird::apps
