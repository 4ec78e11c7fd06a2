#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/attention_config.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/elements.hpp>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>
#include <kinetograph/kernels/isa/amd/mfma.hpp>

namespace kinetograph::gfx950 {

/// A tile in LDS: rows of `kRowChunks` 16-byte chunks. Chunk c of row r is at c ^ swizzle(r), so that the sixteen rows
/// that a wave reads at one c use all 64 banks. Direct-to-LDS loads fill the tile in order, so each lane's global
/// address is permuted instead.
template <uint32_t kRowChunksOf, uint32_t kOperandChunksOf>
struct AttentionTile {
    static constexpr uint32_t kRowChunks = kRowChunksOf;
    static constexpr uint32_t kOperandChunks = kOperandChunksOf;  ///< chunks of eight elements: 1, or 2 of float32
    static constexpr uint32_t kPeriod = kRowChunks < 16 ? kRowChunks : 16;  ///< chunks among which a row permutes
    static constexpr uint32_t kOperandsOfPeriod = kPeriod / (4 * kOperandChunks);

    static_assert(kPeriod % 8 == 0, "fewer chunks cannot keep sixteen rows apart");

    static KG_DEVICE Lanes<uint32_t> swizzle(const Lanes<uint32_t>& row) { return row % kPeriod; }

    /// Offset of a lane's first chunk of operand `k` of the sixteen rows from a row that is a multiple of 16.
    static KG_DEVICE Lanes<uint32_t> operand_offset(uint32_t k) {
        const Lanes<uint32_t> row = amd::lane_index() % 16u, group = amd::lane_index() / 16u;
        return (row * kRowChunks + ((k * 4 + group) * kOperandChunks ^ swizzle(row))) * 16u;
    }
};

/// Eight elements per lane along the axis that a product sums over.
template <Element kElement>
struct AttentionOperand {
    Packed16 chunks[element_bytes(kElement) / 2];
};

/// D += A^T B over 32 summed elements. float32: eight products of four, the lanes' elements in turn.
template <Element kElement>
KG_DEVICE amd::Accumulator multiply(const AttentionOperand<kElement>& a, const AttentionOperand<kElement>& b,
                                    amd::Accumulator sum) {
    if constexpr (kElement == Element::F32) {
        KG_UNROLL for (uint32_t i = 0; i < 8; ++i) {
            sum = amd::mfma_16x16x4_f32(amd::bits_as<float>(Lanes<uint32_t>(a.chunks[i / 4][i % 4])),
                                        amd::bits_as<float>(Lanes<uint32_t>(b.chunks[i / 4][i % 4])), sum);
        }
        return sum;
    } else {
        constexpr auto kType = kElement == Element::BF16 ? Element::BF16 : Element::F16;
        return amd::mfma_16x16x32<kType>(a.chunks[0], b.chunks[0], sum);
    }
}

/// How the waves agree that a tile has landed and the slot before it is free: in every wave its share has landed while
/// kPending younger loads are in flight, and its reads of LDS are done.
struct AttentionSync {
    template <uint32_t kPending>
    static KG_DEVICE void tile_landed() {
        amd::wait_vector_memory<kPending>();
        amd::sync_workgroup();
    }
};

template <class Config, class Sync = AttentionSync>
struct AttentionKernel {
    static constexpr uint32_t kOperandChunks = Config::kBytes / 2;
    static constexpr uint32_t kChunk = 16 / Config::kBytes;  ///< elements
    using KeyTile = AttentionTile<Config::kSlice / kChunk, kOperandChunks>;
    using ValueTile = AttentionTile<Config::kKeys / kChunk, kOperandChunks>;
    using Operand = AttentionOperand<Config::kElement>;
    static constexpr uint32_t kSteps = Config::kSlice / 32;      ///< products along a slice's channels of a score
    static constexpr uint32_t kScoreTiles = Config::kKeys / 16;  ///< 16 x 16 scores of a tile
    static constexpr uint32_t kOutputTiles = Config::kSlice / 16;
    /// Operands in flight from LDS: a read takes as long as six products of 16 cycles, or two of 256.
    static constexpr uint32_t kAhead = Config::kElement == Element::F32 ? 2 : 6;

    const AttentionParams& params;
    amd::LdsPlace lds = amd::allocate_lds<Config::kLdsBytes>();
    uint32_t wave = amd::wave_index();
    Lanes<uint32_t> column = amd::lane_index() % 16u;  ///< the lane's query
    Lanes<uint32_t> group = amd::lane_index() / 16u;
    uint32_t pitch;             ///< bytes from token to token of qkv
    uint32_t first_key, tiles;  ///< of this workgroup's split
    uint32_t end_key;
    Lanes<uint32_t> key_chunk[Config::kLoads];  ///< global offset of the lane's chunk of a tile's first slice, by load
    Lanes<uint32_t> value_chunk;                ///< of V, at the first load

    Operand query[Config::kSlices * kSteps];
    amd::Accumulator output[kOutputTiles];
    Lanes<float> largest = -__builtin_inff();  ///< exponent of each lane's query
    Lanes<float> sum = 0.0f;                   ///< of the weights this lane has processed

    KG_DEVICE explicit AttentionKernel(const AttentionParams& given) : params(given) {
        const amd::Index3 group_index = amd::workgroup_index();
        pitch = 3 * params.channels * Config::kBytes;
        first_key = group_index.y * params.split_tokens;
        const uint32_t left = params.tokens - first_key;
        end_key = first_key + (left < params.split_tokens ? left : params.split_tokens);
        tiles = (end_key - first_key + Config::kKeys - 1) / Config::kKeys;
        KG_UNROLL for (uint32_t i = 0; i < Config::kLoads; ++i) {
            const Lanes<uint32_t> chunk = loaded_chunk(i), row = chunk / KeyTile::kRowChunks;
            const Lanes<uint32_t> of_row = chunk % KeyTile::kRowChunks ^ KeyTile::swizzle(row);
            key_chunk[i] =
                amd::select<uint32_t>(of_row * kChunk < params.channels, row * pitch + of_row * 16u, amd::kOutOfRange);
        }
        const Lanes<uint32_t> chunk = loaded_chunk(0), row = chunk / ValueTile::kRowChunks;
        value_chunk = row * (params.padded_tokens * Config::kBytes) +
                      (chunk % ValueTile::kRowChunks ^ ValueTile::swizzle(row)) * 16u;
        KG_UNROLL for (uint32_t d = 0; d < kOutputTiles; ++d) output[d] = amd::Accumulator{};
    }

    /// The tile's chunk, in LDS order, that this lane loads with its i-th load.
    KG_DEVICE Lanes<uint32_t> loaded_chunk(uint32_t i) const {
        return amd::lane_index() + (i * Config::kWaves + wave) * amd::kWaveLanes;
    }
    /// The slice of the values that this workgroup sums.
    KG_DEVICE uint32_t own_slice() const { return Config::kSlices == 1 ? 0 : amd::workgroup_index().z; }
    KG_DEVICE uint32_t first_query() const { return (amd::workgroup_index().x * Config::kWaves + wave) * 16; }

    KG_DEVICE void load_query() {
        const amd::Buffer buffer = amd::make_buffer(params.qkv, params.tokens * pitch);
        const Lanes<uint32_t> token = column + first_query();
        KG_UNROLL for (uint32_t k = 0; k < Config::kSlices * kSteps; ++k) {
            KG_UNROLL for (uint32_t i = 0; i < kOperandChunks; ++i) {
                const Lanes<uint32_t> channel = (group + k * 4u) * 8u + i * kChunk;
                const Lanes<uint32_t> offset = token * pitch + channel * Config::kBytes;
                query[k].chunks[i] =
                    amd::load_16(buffer, amd::select<uint32_t>(channel < params.channels, offset, amd::kOutOfRange));
            }
        }
    }

    /// Global offset of this lane's chunk of a tile's slice, with its i-th load.
    KG_DEVICE Lanes<uint32_t> key_offset(uint32_t i, uint32_t slice) const {
        if (slice == 0) return key_chunk[i];
        const Lanes<uint32_t> chunk = loaded_chunk(i), row = chunk / KeyTile::kRowChunks;
        const Lanes<uint32_t> channel =
            (chunk % KeyTile::kRowChunks ^ KeyTile::swizzle(row)) * kChunk + slice * Config::kSlice;
        return amd::select<uint32_t>(channel < params.channels, row * pitch + channel * Config::kBytes,
                                     amd::kOutOfRange);
    }

    /// Loads a slice of the keys of tile `t` into slot `slot`; keys past the split's end, and all of them after the
    /// last tile, read zero.
    KG_DEVICE void load_keys(uint32_t t, uint32_t slice, uint32_t slot) const {
        const uint32_t key = first_key + t * Config::kKeys;
        const auto* keys = static_cast<const unsigned char*>(params.qkv) + params.channels * Config::kBytes;
        const uint32_t bytes = t < tiles ? (end_key - key - 1) * pitch + params.channels * Config::kBytes : 0;
        const amd::Buffer buffer = amd::make_buffer(keys + static_cast<uint64_t>(key) * pitch, bytes);
        KG_UNROLL for (uint32_t i = 0; i < Config::kLoads; ++i) {
            amd::load_16_to_lds(buffer, load_place(slot, i), key_offset(i, slice));
        }
    }
    KG_DEVICE void load_values(uint32_t t, uint32_t slot) const {
        const uint32_t row_bytes = params.padded_tokens * Config::kBytes;
        const uint32_t begin = (first_key + t * Config::kKeys) * Config::kBytes;
        const uint64_t slice = static_cast<uint64_t>(own_slice()) * Config::kSlice * row_bytes;
        const auto* values = static_cast<const unsigned char*>(params.values) + slice;
        const amd::Buffer buffer = amd::make_buffer(values + begin, t < tiles ? Config::kSlice * row_bytes - begin : 0);
        constexpr uint32_t kRowsOfLoad = Config::kThreads / ValueTile::kRowChunks;
        KG_UNROLL for (uint32_t i = 0; i < Config::kLoads; ++i) {
            amd::load_16_to_lds(buffer, load_place(slot, i), value_chunk + i * kRowsOfLoad * row_bytes);
        }
    }
    /// Of the parts that follow each other in the ring, slices of the keys of tile `t` and then the values, and so on
    /// in the next tile.
    KG_DEVICE void load_part(uint32_t t, uint32_t part, uint32_t slot) const {
        constexpr uint32_t kParts = Config::kSlices + 1;
        const uint32_t tile = part < kParts ? t : t + 1, of_tile = part % kParts;
        if (of_tile < Config::kSlices)
            load_keys(tile, of_tile, slot);
        else
            load_values(tile, slot);
    }
    KG_DEVICE amd::LdsPlace load_place(uint32_t slot, uint32_t i) const {
        return lds + (slot * Config::kTileBytes + (i * Config::kWaves + wave) * 1024);
    }

    /// Reads the operands of a tile from LDS, each kAhead products before it is used.
    template <class Tile>
    struct OperandStream {
        amd::LdsPlace lds;
        Lanes<uint32_t> offsets[Tile::kOperandsOfPeriod];
        Operand ahead[kAhead];

        KG_DEVICE OperandStream(amd::LdsPlace place, uint32_t slot) : lds(place) {
            KG_UNROLL for (uint32_t k = 0; k < Tile::kOperandsOfPeriod; ++k) {
                offsets[k] = Tile::operand_offset(k) + slot * Config::kTileBytes;
            }
        }
        /// As the n-th operand, k of the sixteen rows from 16 * `rows`.
        KG_DEVICE void ask(uint32_t n, uint32_t rows, uint32_t k) {
            const uint32_t base = (rows * 16 * Tile::kRowChunks + k / Tile::kOperandsOfPeriod * Tile::kPeriod) * 16;
            const Lanes<uint32_t>& offset = offsets[k % Tile::kOperandsOfPeriod];
            Operand& operand = ahead[n % kAhead];
            operand.chunks[0] = amd::read_lds_16(lds + base, offset);
            if constexpr (kOperandChunks == 2) operand.chunks[1] = amd::read_lds_16(lds + base, offset ^ 16u);
        }
        KG_DEVICE const Operand& take(uint32_t n) const { return ahead[n % kAhead]; }
    };

    /// Adds a slice's part of the scores.
    KG_DEVICE void score(uint32_t slot, uint32_t slice, amd::Accumulator (&scores)[kScoreTiles]) const {
        constexpr uint32_t kProducts = kSteps * kScoreTiles;
        OperandStream<KeyTile> keys(lds, slot);
        KG_UNROLL for (uint32_t n = 0; n < kAhead; ++n) keys.ask(n, n % kScoreTiles, n / kScoreTiles);
        amd::schedule_fence();
        KG_UNROLL for (uint32_t n = 0; n < kProducts; ++n) {
            const uint32_t j = n % kScoreTiles, later = n + kAhead;
            scores[j] = multiply<Config::kElement>(keys.take(n), query[slice * kSteps + n / kScoreTiles], scores[j]);
            if (later < kProducts) keys.ask(later, later % kScoreTiles, later / kScoreTiles);
            amd::schedule_fence();
        }
    }

    /// Keys past the end get no weight; only the last tile has any.
    KG_DEVICE void mask(uint32_t t, amd::Accumulator (&scores)[kScoreTiles]) const {
        const uint32_t left = end_key - first_key - t * Config::kKeys;
        if (left >= Config::kKeys) return;
        KG_UNROLL for (uint32_t j = 0; j < kScoreTiles; ++j) {
            KG_UNROLL for (uint32_t e = 0; e < 4; ++e) {
                const Lanes<uint32_t> key = group * 4u + (j * 16 + e);
                scores[j][e] = amd::select<float>(key < left, scores[j][e], -__builtin_inff());
            }
        }
    }

    /// Turns scores into weights 2^(score * scale - largest). A new maximum rescales the sums so far; it is rare after
    /// the first few tiles, so the code branches over it.
    KG_DEVICE void soften(amd::Accumulator (&scores)[kScoreTiles], Operand (&weights)[kScoreTiles / 2]) {
        Lanes<float> top = scores[0][0];
        KG_UNROLL for (uint32_t j = 0; j < kScoreTiles; ++j) {
            KG_UNROLL for (uint32_t e = 0; e < 4; ++e) top = amd::max(top, Lanes<float>(scores[j][e]));
        }
        top = amd::max(top, amd::exchange<16>(top));
        top = amd::max(top, amd::exchange<32>(top)) * params.scale;
        if (amd::any(top > largest)) {
            const Lanes<float> now = amd::max(largest, top);
            const Lanes<float> factor = amd::exp2(largest - now);
            KG_UNROLL for (uint32_t d = 0; d < kOutputTiles; ++d) {
                KG_UNROLL for (uint32_t e = 0; e < 4; ++e) output[d][e] = output[d][e] * factor;
            }
            sum = sum * factor;
            largest = now;
        }
        KG_UNROLL for (uint32_t j = 0; j < kScoreTiles; ++j) {
            Lanes<float> weight[4];
            KG_UNROLL for (uint32_t e = 0; e < 4; ++e) {
                weight[e] = amd::exp2(amd::fma(scores[j][e], Lanes<float>(params.scale), -largest));
            }
            keep(weight, j, weights[j / 2]);
        }
    }

    /// Puts four weights of 16-key tile `j` into their half of the operand. Sums the rounded weights, as the product
    /// will see them, so that they add to one.
    KG_DEVICE void keep(const Lanes<float> (&weight)[4], uint32_t j, Operand& operand) {
        KG_UNROLL for (uint32_t e = 0; e < 4; e += 2) {
            if constexpr (Config::kElement == Element::F32) {
                operand.chunks[j % 2][e] = amd::bits_as<uint32_t>(weight[e]);
                operand.chunks[j % 2][e + 1] = amd::bits_as<uint32_t>(weight[e + 1]);
                sum = sum + weight[e] + weight[e + 1];
            } else {
                const Lanes<uint32_t> pair = pack_pair<Config::kElement>(weight[e], weight[e + 1]);
                operand.chunks[0][j % 2 * 2 + e / 2] = pair;
                sum = sum + widen<Config::kElement>(pair) + widen<Config::kElement>(pair >> 16u);
            }
        }
    }

    KG_DEVICE void accumulate(uint32_t slot, const Operand (&weights)[kScoreTiles / 2]) {
        constexpr uint32_t kProducts = kOutputTiles * kScoreTiles / 2;
        OperandStream<ValueTile> values(lds, slot);
        KG_UNROLL for (uint32_t n = 0; n < kAhead; ++n) values.ask(n, n % kOutputTiles, n / kOutputTiles);
        amd::schedule_fence();
        KG_UNROLL for (uint32_t n = 0; n < kProducts; ++n) {
            const uint32_t d = n % kOutputTiles, later = n + kAhead;
            output[d] = multiply<Config::kElement>(values.take(n), weights[n / kOutputTiles], output[d]);
            if (later < kProducts) values.ask(later, later % kOutputTiles, later / kOutputTiles);
            amd::schedule_fence();
        }
    }

    /// In every 16 channels, each lane holds four consecutive ones of its query.
    KG_DEVICE void store() {
        sum = sum + amd::exchange<16>(sum);
        sum = sum + amd::exchange<32>(sum);
        const Lanes<uint32_t> token = column + first_query();
        if (params.splits > 1) return store_partial(token);
        const Lanes<float> inverse = amd::reciprocal(sum);
        const amd::Buffer buffer = amd::make_buffer(params.output, params.tokens * params.channels * Config::kBytes);
        KG_UNROLL for (uint32_t d = 0; d < kOutputTiles; ++d) {
            Lanes<float> values[4];
            KG_UNROLL for (uint32_t e = 0; e < 4; ++e) values[e] = output[d][e] * inverse;
            const Lanes<uint32_t> offset = element_offset(token, d, Config::kBytes);
            if constexpr (Config::kElement == Element::F32) {
                amd::store_16(buffer, offset, narrow_unit<Element::F32>(values));
            } else {
                Packed8 packed;
                packed[0] = pack_pair<Config::kElement>(values[0], values[1]);
                packed[1] = pack_pair<Config::kElement>(values[2], values[3]);
                amd::store_8(buffer, offset, packed);
            }
        }
    }
    KG_DEVICE void store_partial(const Lanes<uint32_t>& token) {
        const uint64_t split = amd::workgroup_index().y;
        const uint32_t elements = params.tokens * params.channels;
        const amd::Buffer sums = amd::make_buffer(params.partial + split * elements, elements * 4);
        KG_UNROLL for (uint32_t d = 0; d < kOutputTiles; ++d) {
            Lanes<float> values[4];
            KG_UNROLL for (uint32_t e = 0; e < 4; ++e) values[e] = output[d][e];
            amd::store_16(sums, element_offset(token, d, 4), narrow_unit<Element::F32>(values));
        }
        const amd::Buffer rows = amd::make_buffer(params.partial_rows + split * params.tokens * 2, params.tokens * 8);
        Packed8 row;
        row[0] = amd::bits_as<uint32_t>(largest);
        row[1] = amd::bits_as<uint32_t>(sum);
        if (own_slice() == 0) amd::store_8(rows, amd::select<uint32_t>(group == 0u, token * 8u, amd::kOutOfRange), row);
    }
    KG_DEVICE Lanes<uint32_t> element_offset(const Lanes<uint32_t>& token, uint32_t d, uint32_t bytes) const {
        const Lanes<uint32_t> channel = group * 4u + (d * 16 + own_slice() * Config::kSlice);
        return amd::select<uint32_t>(channel < params.channels, (token * params.channels + channel) * bytes,
                                     amd::kOutOfRange);
    }

    KG_DEVICE void run() {
        load_query();
        load_part(0, 0, 0);
        load_part(0, 1, 1);
        KG_UNROLL for (Operand& operand : query) { KG_UNROLL for (Packed16& chunk : operand.chunks) amd::await(chunk); }
        uint32_t used = 0, next = 1, empty = 2;  // slots of the ring
        const auto turn = [&] {
            const uint32_t emptied = used;
            used = next;
            next = empty;
            empty = emptied;
        };
        for (uint32_t t = 0; t < tiles; ++t) {
            amd::Accumulator scores[kScoreTiles];
            Operand weights[kScoreTiles / 2];
            KG_UNROLL for (uint32_t j = 0; j < kScoreTiles; ++j) scores[j] = amd::Accumulator{};
            KG_UNROLL for (uint32_t slice = 0; slice < Config::kSlices; ++slice) {
                Sync::template tile_landed<Config::kLoads>();  // K(t)
                load_part(t, slice + 2, empty);
                score(used, slice, scores);
                turn();
            }
            mask(t, scores);
            soften(scores, weights);
            Sync::template tile_landed<Config::kLoads>();  // V(t)
            load_part(t, Config::kSlices + 2, empty);
            accumulate(used, weights);
            turn();
        }
        amd::wait_vector_memory<0>();  // no load may land in LDS after the workgroup has ended
        store();
    }
};

/// A lane has one channel and puts 32 keys of it into the order that the products need.
template <uint32_t kBytes>
KG_DEVICE void transpose_values(const AttentionValuesParams& params) {
    constexpr uint32_t kKeys = 32;
    const uint32_t pitch = 3 * params.channels * kBytes;
    const uint32_t first = (amd::workgroup_index().x * 4 + amd::wave_index()) * kKeys;
    if (first >= params.padded_tokens) return;
    const Lanes<uint32_t> channel = amd::lane_index() + amd::workgroup_index().y * amd::kWaveLanes;
    const amd::Buffer from = amd::make_buffer(params.qkv, params.tokens * pitch);
    const amd::Buffer to = amd::make_buffer(params.values, params.width * params.padded_tokens * kBytes);
    const Lanes<uint32_t> row = channel * (params.padded_tokens * kBytes) + first * kBytes;
    constexpr uint32_t kOfChunk = 16 / kBytes;
    KG_UNROLL for (uint32_t chunk = 0; chunk < kKeys / kOfChunk; ++chunk) {
        Packed16 packed;
        KG_UNROLL for (uint32_t word = 0; word < 4; ++word) {
            const auto load = [&](uint32_t place) {  // zero past the last channel and the last token
                const uint32_t key = first + place / 8 * 4 + place % 8 / 4 * 16 + place % 4;
                const Lanes<uint32_t> offset = (channel + 2 * params.channels) * kBytes + key * pitch;
                const Lanes<uint32_t> inside =
                    amd::select<uint32_t>(channel < params.channels, offset, amd::kOutOfRange);
                return kBytes == 4 ? amd::load_4(from, inside) : amd::load_2(from, inside);
            };
            const uint32_t place = chunk * kOfChunk + word * (4 / kBytes);
            packed[word] = load(place);
            if constexpr (kBytes == 2) packed[word] = packed[word] | load(place + 1) << 16u;
        }
        amd::store_16(to, row + chunk * 16u, packed);
    }
}

/// Four channels of a token per lane.
template <Element kElement>
KG_DEVICE void join_splits(const AttentionJoinParams& params) {
    const uint32_t elements = params.tokens * params.channels;
    const Lanes<uint32_t> first =
        (amd::lane_index() + (amd::workgroup_index().x * 4 + amd::wave_index()) * amd::kWaveLanes) * 4u;
    const Lanes<uint32_t> token = first / params.channels;
    const auto rows = [&](uint64_t split) {
        return amd::load_8(amd::make_buffer(params.partial_rows + split * params.tokens * 2, params.tokens * 8),
                           token * 8u);
    };
    Lanes<float> largest = -__builtin_inff();
    for (uint32_t split = 0; split < params.splits; ++split) {
        largest = amd::max(largest, amd::bits_as<float>(Lanes<uint32_t>(rows(split)[0])));
    }
    Lanes<float> values[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sum = 0.0f;
    for (uint64_t split = 0; split < params.splits; ++split) {
        const Packed8 row = rows(split);
        const Lanes<float> factor = amd::exp2(amd::bits_as<float>(Lanes<uint32_t>(row[0])) - largest);
        sum = amd::fma(amd::bits_as<float>(Lanes<uint32_t>(row[1])), factor, sum);
        const Packed16 part =
            amd::load_16(amd::make_buffer(params.partial + split * elements, elements * 4), first * 4u);
        KG_UNROLL for (uint32_t e = 0; e < 4; ++e) {
            values[e] = amd::fma(amd::bits_as<float>(Lanes<uint32_t>(part[e])), factor, values[e]);
        }
    }
    const Lanes<float> inverse = amd::reciprocal(sum);
    KG_UNROLL for (uint32_t e = 0; e < 4; ++e) values[e] = values[e] * inverse;
    const amd::Buffer output = amd::make_buffer(params.output, elements * element_bytes(kElement));
    if constexpr (kElement == Element::F32) {
        amd::store_16(output, first * 4u, narrow_unit<Element::F32>(values));
    } else {
        Packed8 packed;
        packed[0] = pack_pair<kElement>(values[0], values[1]);
        packed[1] = pack_pair<kElement>(values[2], values[3]);
        amd::store_8(output, first * 2u, packed);
    }
}

}  // namespace kinetograph::gfx950
