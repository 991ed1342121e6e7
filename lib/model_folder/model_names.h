// What `-m` and `--init` take besides the path of a folder.
//
//   yeast-r64/tracks            a model that comes with the program (shipped_models.h)
//   hf:ORG/NAME[@REVISION]      a repository of huggingface.co, or of HF_ENDPOINT; a branch, tag or commit
//   https://HOST/FOLDER/        a folder with a file SHA256SUMS, as sha256sum writes it
//
// Fetched folders are kept in ~/.cache/bigbird/models and asked for once: a commit never changes, of a branch
// the server says which commit it is. Without a network (BIGBIRD_OFFLINE=1 or HF_HUB_OFFLINE=1) the cache is
// all there is.
#pragma once

#include <string>

namespace bigbird {

// Whether it is one of the forms above that are fetched.
bool is_remote_model(const std::string& name);

// The folder that a name means. A path that exists is itself, whatever it looks like; so is what is none of
// the forms. Error{usage}: a name of a form that is not well made; {environment}: not in the cache, and the
// network is not to be used; errors of download.h. What was fetched in part stays and is gone on with.
std::string model_folder_of(const std::string& name);

}  // namespace bigbird
