// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// A switch that stops a contract's transactions. The reasons are strings because clients print them.
abstract contract Pausing is Pausable {
    function _requireNotPaused() internal view override {
        require(!paused(), "Pausable: paused");
    }

    function _requirePaused() internal view override {
        require(paused(), "Pausable: not paused");
    }
}
