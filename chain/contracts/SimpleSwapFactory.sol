// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20SimpleSwap} from "./ERC20SimpleSwap.sol";

/// Deploys chequebooks as minimal proxies of one master copy and remembers which ones it deployed.
contract SimpleSwapFactory {
    address public immutable ERC20Address;
    address public immutable master;

    mapping(address chequebook => bool) public deployedContracts;

    event SimpleSwapDeployed(address contractAddress);

    constructor(address _ERC20Address) {
        ERC20Address = _ERC20Address;
        ERC20SimpleSwap copy = new ERC20SimpleSwap();
        // An issuer nobody is: the master can neither be taken over nor used.
        copy.init(address(1), address(0), 0);
        master = address(copy);
    }

    function deploySimpleSwap(address issuer, uint256 defaultHardDepositTimeoutDuration, bytes32 salt)
        external
        returns (address)
    {
        address chequebook = _clone(keccak256(abi.encode(msg.sender, salt)));
        ERC20SimpleSwap(chequebook).init(issuer, ERC20Address, defaultHardDepositTimeoutDuration);
        deployedContracts[chequebook] = true;
        emit SimpleSwapDeployed(chequebook);
        return chequebook;
    }

    /// EIP-1167: ten bytes that return the 45 bytes after them, which delegate every call to the master.
    function _clone(bytes32 salt) private returns (address chequebook) {
        bytes memory code = abi.encodePacked(
            hex"3d602d80600a3d3981f3", hex"363d3d373d3d3d363d73", master, hex"5af43d82803e903d91602b57fd5bf3"
        );
        assembly ("memory-safe") {
            chequebook := create2(0, add(code, 32), mload(code), salt)
        }
        require(chequebook != address(0), "ERC1167: create2 failed");
    }
}
