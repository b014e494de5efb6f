// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// The exchange rate of cheques: token units per accounting unit, and what is deducted once from the first
/// cheque that a peer sends.
contract SwapPriceOracle is Ownable {
    uint256 public price;
    uint256 public chequeValueDeduction;

    event PriceUpdate(uint256 price);
    event ChequeValueDeductionUpdate(uint256 chequeValueDeduction);

    constructor(uint256 _price, uint256 _chequeValueDeduction) Ownable(msg.sender) {
        price = _price;
        chequeValueDeduction = _chequeValueDeduction;
    }

    function getPrice() external view returns (uint256, uint256) {
        return (price, chequeValueDeduction);
    }

    function updatePrice(uint256 newPrice) external onlyOwner {
        price = newPrice;
        emit PriceUpdate(newPrice);
    }

    function updateChequeValueDeduction(uint256 newChequeValueDeduction) external onlyOwner {
        chequeValueDeduction = newChequeValueDeduction;
        emit ChequeValueDeductionUpdate(newChequeValueDeduction);
    }

    function _checkOwner() internal view override {
        require(owner() == msg.sender, "Ownable: caller is not the owner");
    }
}
