// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Recovers signers of 65-byte signatures (r, s, v).
library Signatures {
    /// Half the order of the curve: the greater s of the two that verify is refused.
    uint256 private constant S_MAX = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    function split(bytes calldata signature) internal pure returns (bytes32 r, bytes32 s, uint8 v) {
        return (bytes32(signature[0:32]), bytes32(signature[32:64]), uint8(signature[64]));
    }

    /// @return signer never the zero address: signatures that recover to nobody revert.
    function recoverStrict(bytes32 digest, bytes calldata signature) internal pure returns (address signer) {
        require(signature.length == 65, "ECDSA: invalid signature length");
        (bytes32 r, bytes32 s, uint8 v) = split(signature);
        require(uint256(s) <= S_MAX, "ECDSA: invalid signature 's' value");
        require(v == 27 || v == 28, "ECDSA: invalid signature 'v' value");
        signer = ecrecover(digest, v, r, s);
        require(signer != address(0), "ECDSA: invalid signature");
    }

    /// The digest of a 32-byte message signed with the Ethereum prefix.
    function prefixed(bytes32 message) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", message));
    }
}
