// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Addresses of chunks from inclusion proofs: a chunk is a binary Merkle tree over 128 segments of 32 bytes,
/// its address the hash of its span and the root. In the transformed tree an anchor prefixes every input.
library ChunkProof {
    /// Sister segments from a leaf to the root of 128 leaves.
    uint256 internal constant SISTERS = 7;

    function chunkAddress(bytes32[] calldata sisters, bytes32 segment, uint256 index, uint64 span)
        internal
        pure
        returns (bytes32)
    {
        bytes32 node = segment;
        for (uint256 i = 0; i < SISTERS; i++) {
            node = (index >> i) & 1 == 0
                ? keccak256(abi.encodePacked(node, sisters[i]))
                : keccak256(abi.encodePacked(sisters[i], node));
        }
        return keccak256(abi.encodePacked(_littleEndian(span), node));
    }

    function transformedAddress(
        bytes32[] calldata sisters,
        bytes32 segment,
        uint256 index,
        uint64 span,
        bytes32 anchor
    ) internal pure returns (bytes32) {
        bytes32 node = segment;
        for (uint256 i = 0; i < SISTERS; i++) {
            node = (index >> i) & 1 == 0
                ? keccak256(abi.encodePacked(anchor, node, sisters[i]))
                : keccak256(abi.encodePacked(anchor, sisters[i], node));
        }
        return keccak256(abi.encodePacked(anchor, _littleEndian(span), node));
    }

    function _littleEndian(uint64 value) private pure returns (bytes8) {
        uint64 reversed;
        for (uint256 i = 0; i < 8; i++) {
            reversed = (reversed << 8) | (value & 0xff);
            value >>= 8;
        }
        return bytes8(reversed);
    }
}
