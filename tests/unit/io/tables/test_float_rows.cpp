// Matrices written row by row, read back as the formats say.
#include <gtest/gtest.h>

#include <vector>

#include "lib/core/error.h"
#include "lib/io/genome/fasta_stream.h"
#include "lib/io/tables/float_rows.h"
#include "lib/io/tables/npy.h"
#include "lib/io/weights/safetensors.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

TEST(FloatRows, SafetensorsHoldsTheRowsAndTheMetadata) {
  const TemporaryFolder folder;
  const std::string path = (folder / "rows.safetensors").string();
  FloatRowsWriter writer(path, 3, {{"provenance", "{\"a\": \"b\"}"}});
  writer.write(std::vector<float>{1, 2, 3, 4, 5, 6});
  writer.write(std::vector<float>{});
  writer.write(std::vector<float>{7, 8, 9});
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.commit();
  const SafetensorsFile file(path);
  EXPECT_EQ(file.info("embeddings").shape, (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(file.floats("embeddings"), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(file.metadata().at("provenance"), "{\"a\": \"b\"}");
}

TEST(FloatRows, NpyHoldsTheRowsBehindAnAlignedHeader) {
  const TemporaryFolder folder;
  const std::string path = (folder / "rows.npy").string();
  FloatRowsWriter writer(path, 2, {});
  writer.write(std::vector<float>{1, 2, 3, 4});
  writer.commit();
  const std::string bytes = testing::read_text(path);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t header =
      static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ((10 + header) % 64, 0u);
  EXPECT_EQ(bytes[9 + header], '\n');
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  EXPECT_EQ(bytes.substr(10, text.size()), text);
  const std::vector<float> values{1, 2, 3, 4};
  EXPECT_EQ(bytes.substr(10 + header), std::string(reinterpret_cast<const char*>(values.data()), 16));
}

TEST(FloatRows, Hdf5HoldsTheRowsTheMetadataAndWhatIsPutBeside) {
  const TemporaryFolder folder;
  const std::string path = (folder / "rows.h5").string();
  FloatRowsWriter writer(path, 3, {{"provenance", "{}"}}, "scores");
  writer.write(std::vector<float>{1, 2, 3, 4, 5, 6});
  writer.hdf5()->write_strings("row", {"a", "b"});
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.commit();
  const Hdf5Reader file(path);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"row", "scores"}));
  EXPECT_EQ(file.shape("scores"), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(file.read_floats("scores"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(file.attribute("provenance"), "{}");
  EXPECT_EQ(FloatRowsWriter((folder / "rows.npy").string(), 3, {}).hdf5(), nullptr);
}

TEST(FloatRows, RefusesOtherSuffixesHalfRowsAndLeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  EXPECT_THROW(FloatRowsWriter((folder / "rows.csv").string(), 2, {}), Error);
  {
    FloatRowsWriter writer((folder / "rows.npy").string(), 2, {});
    EXPECT_THROW(writer.write(std::vector<float>{1}), Error);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FastaStream, ReadsRecordsAsFastaDoes) {
  const TemporaryFolder folder;
  const auto path = folder / "some.fa";
  testing::write_text(path, "\n>one first record\nacgt\nRYn\n\n>two\r\nTTTT\r\n>three\nA");
  FastaStream stream(path.string());
  FastaRecord record;
  ASSERT_TRUE(stream.next(record));
  EXPECT_EQ(record.name + ":" + record.sequence, "one:ACGTNNN");
  ASSERT_TRUE(stream.next(record));
  EXPECT_EQ(record.name + ":" + record.sequence, "two:TTTT");
  ASSERT_TRUE(stream.next(record));
  EXPECT_EQ(record.name + ":" + record.sequence, "three:A");
  EXPECT_FALSE(stream.next(record));
  EXPECT_FALSE(stream.next(record));
  EXPECT_EQ(stream.iupac_replaced(), 2u);
}

TEST(FastaStream, NamesTheLineThatIsWrong) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    testing::write_text(folder / "bad.fa", text);
    FastaStream stream((folder / "bad.fa").string());
    FastaRecord record;
    try {
      while (stream.next(record)) {
      }
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return std::string("read");
  };
  EXPECT_NE(message("ACGT\n").find("bad.fa:1: does not begin with >"), std::string::npos);
  EXPECT_NE(message(">a\nAC\n> b\nAC\n").find("bad.fa:3: a record without a name"), std::string::npos);
  EXPECT_NE(message(">a\nAC\nA?\n").find("bad.fa:3: '?' in record a is not a base"), std::string::npos);
  EXPECT_NE(message(">a\n>b\nAC\n").find("record a holds no bases"), std::string::npos);
  EXPECT_EQ(message(""), "read");
}

}  // namespace
}  // namespace bigbird
