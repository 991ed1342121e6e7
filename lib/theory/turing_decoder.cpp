// See turing_decoder.h.
#include "lib/theory/turing_decoder.h"

#include <cstddef>
#include <cstdlib>

namespace bigbird {
namespace {

// What a row carries from one decoder step to the next, beside its configuration.
struct DecoderRow {
  Configuration at;
  TimeRecord best;  // of the earlier times compared so far, the one to read the next symbol from
};

// |Q.K| of layer 4 is |3 (j+1) (m+1) (c' - c_m) + 1| / (3 (j+1)^2 (m+1)^2): of one query the records compare
// by |..| / (m+1)^2. It is least for the last visit of cell c', and if there was none for any record at all.
bool scores_less(const TimeRecord& one, const TimeRecord& other, std::int64_t time, std::int64_t next_cell) {
  const auto numerator = [&](const TimeRecord& record) {
    return std::abs(3 * (time + 1) * (record.time + 1) * (next_cell - record.cell) + 1);
  };
  const auto squared = [](const TimeRecord& record) { return (record.time + 1) * (record.time + 1); };
  return numerator(one) * squared(other) < numerator(other) * squared(one);
}

class Decoder {
 public:
  Decoder(const TuringMachine& machine, const std::string& word, DecoderEdges edges)
      : machine_(machine), word_(word), edges_(edges) {
    row_.at = {machine.start, blank_symbol, 0};
    keys_.emplace_back();  // nodes are numbered from 1
  }

  // One machine time; false where the machine has no transition.
  bool block(std::int64_t time) {
    // Layers 1 and 2: the transition, and the cell it leads to; the same at all nodes of the block.
    Transition step{row_.at.state, row_.at.symbol, 0};
    const auto found = machine_.transitions.find({row_.at.state, row_.at.symbol});
    if (!machine_.halted(row_.at.state)) {
      if (found == machine_.transitions.end()) return false;
      step = found->second;
    }
    const std::int64_t next_cell = row_.at.cell + step.move;
    for (std::int64_t place = 1; place <= time + 1; ++place) {
      DecoderNode node = node_at(time, place);
      // Layer 3: a compute node's own record is that of its time, any other's the best so far.
      const TimeRecord own = node.computes() ? TimeRecord{step.symbol, row_.at.cell, time} : row_.best;
      keys_.push_back(own);
      if (node.computes()) {
        run_.configurations.push_back(row_.at);
        run_.records.push_back(own);
      }
      // Layer 4: the lesser score of two, the first of equal ones.
      const TimeRecord &first = key(node.first), &second = key(node.second);
      node.took_second = scores_less(second, first, time, next_cell);
      row_.best = node.took_second ? second : first;
      node.record = row_.best.time;
      run_.nodes.push_back(node);
      run_.products += 2;
    }
    row_.at = {step.state, symbol_at(time + 1, next_cell), next_cell};
    return true;
  }

  DecoderRun take() { return std::move(run_); }

 private:
  DecoderNode node_at(std::int64_t time, std::int64_t place) const {
    DecoderNode node;
    node.number = time * (time + 1) / 2 + place;
    node.time = time;
    node.place = place;
    node.first = place * (place + 1) / 2;
    node.second = node.number;
    const bool before = place == 1 || (node.computes() && edges_ == DecoderEdges::amended);
    if (before && node.number > 1) node.second = node.number - 1;
    return node;
  }

  const TimeRecord& key(std::int64_t number) const { return keys_[static_cast<std::size_t>(number)]; }

  // The last transformation: the word's letter while it is read, else what was written there last, if ever.
  char symbol_at(std::int64_t time, std::int64_t cell) {
    const bool letter = time <= static_cast<std::int64_t>(word_.size()), visited = row_.best.cell == cell;
    run_.sources.push_back(letter ? from_word : visited ? row_.best.time : from_nowhere);
    if (letter) return word_[static_cast<std::size_t>(time - 1)];
    return visited ? row_.best.written : blank_symbol;
  }

  const TuringMachine& machine_;
  const std::string& word_;
  DecoderEdges edges_;
  DecoderRow row_;
  std::vector<TimeRecord> keys_;  // of layer 4, by node
  DecoderRun run_;
};

}  // namespace

DecoderRun decode_machine(const TuringMachine& machine, const std::string& word, std::int64_t times,
                          DecoderEdges edges) {
  Decoder decoder(machine, word, edges);
  for (std::int64_t time = 0; time < times; ++time) {
    if (!decoder.block(time)) break;
  }
  return decoder.take();
}

std::vector<Tape> decoder_tapes(const DecoderRun& run, const std::string& word) {
  Tape tape;
  for (std::size_t i = 0; i < word.size(); ++i) tape[static_cast<std::int64_t>(i) + 1] = word[i];
  std::vector<Tape> tapes;
  for (const TimeRecord& record : run.records) {
    tapes.push_back(tape);
    if (record.written == blank_symbol) {
      tape.erase(record.cell);
    } else {
      tape[record.cell] = record.written;
    }
  }
  return tapes;
}

std::int64_t first_difference(const MachineRun& plain, const DecoderRun& run, const std::string& word) {
  const std::vector<Tape> tapes = decoder_tapes(run, word);
  for (std::size_t time = 0; time < plain.configurations.size(); ++time) {
    const bool same = time < tapes.size() && tapes[time] == plain.tapes[time] &&
                      run.configurations[time] == plain.configurations[time];
    if (!same) return static_cast<std::int64_t>(time);
  }
  return -1;
}

}  // namespace bigbird
