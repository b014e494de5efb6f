// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {PostageStamp} from "./PostageStamp.sol";

/// Keeps the price of storage per chunk and block and pushes it to PostageStamp. The redistribution game
/// reports each round how many players agreed: fewer than four raise the price, more lower it. The price is
/// kept with ten extra bits so that the small steps do not vanish in rounding.
contract PriceOracle is AccessControl {
    bytes32 public constant PRICE_UPDATER_ROLE = keccak256("PRICE_UPDATER_ROLE");

    uint64 private constant ROUND_LENGTH = 152;
    /// Twice the wanted four: more agreeing players than this count the same.
    uint16 private constant REDUNDANCY_MAX = 8;
    uint32 public constant minimumPriceUpscaled = 24000 << 10;
    uint32 public constant priceBase = 1048576;

    PostageStamp public immutable postageStamp;

    uint64 public currentPriceUpScaled = minimumPriceUpscaled;
    uint64 public lastAdjustedRound;
    bool public isPaused;

    event PriceUpdate(uint256 price);
    event StampPriceUpdateFailed(uint256 attemptedPrice);

    error CallerNotAdmin();
    error CallerNotPriceUpdater();
    error PriceAlreadyAdjusted();
    error UnexpectedZero();

    constructor(address _postageStamp) {
        postageStamp = PostageStamp(_postageStamp);
        lastAdjustedRound = currentRound();
        _grantRole(DEFAULT_ADMIN_ROLE, msg.sender);
        emit PriceUpdate(currentPrice());
    }

    modifier onlyAdmin() {
        if (!hasRole(DEFAULT_ADMIN_ROLE, msg.sender)) revert CallerNotAdmin();
        _;
    }

    /// The shift is done in 32 bits: prices from 2^22 on wrap, as they do on the public network.
    function setPrice(uint32 _price) external onlyAdmin returns (bool) {
        return _setPriceUpscaled(_price << 10);
    }

    /// @return false when the oracle is paused or PostageStamp refused the price
    function adjustPrice(uint16 redundancy) external returns (bool) {
        if (isPaused) return false;
        if (!hasRole(PRICE_UPDATER_ROLE, msg.sender)) revert CallerNotPriceUpdater();
        uint64 round = currentRound();
        if (round <= lastAdjustedRound) revert PriceAlreadyAdjusted();
        if (redundancy == 0) revert UnexpectedZero();

        uint64 skippedRounds = round - lastAdjustedRound - 1;
        lastAdjustedRound = round;
        uint64 price = currentPriceUpScaled;
        price = changeRate(redundancy < REDUNDANCY_MAX ? redundancy : REDUNDANCY_MAX) * price / priceBase;
        uint64 rateOfSkippedRound = changeRate(0);
        for (uint64 i = 0; i < skippedRounds; i++) price = rateOfSkippedRound * price / priceBase;
        return _setPriceUpscaled(price);
    }

    function pause() external onlyAdmin {
        isPaused = true;
    }

    function unPause() external onlyAdmin {
        isPaused = false;
    }

    /// Factor for each number of agreeing players, in units of 1 / priceBase; 0 stands for a skipped round.
    function changeRate(uint256 redundancy) public pure returns (uint32) {
        uint32[9] memory rates =
            [uint32(1049417), 1049206, 1048996, 1048786, 1048576, 1048366, 1048156, 1047946, 1047736];
        return rates[redundancy];
    }

    function currentPrice() public view returns (uint32) {
        return uint32(currentPriceUpScaled >> 10);
    }

    function minimumPrice() external pure returns (uint32) {
        return minimumPriceUpscaled >> 10;
    }

    function currentRound() public view returns (uint64) {
        return uint64(block.number) / ROUND_LENGTH;
    }

    function _setPriceUpscaled(uint64 price) private returns (bool) {
        currentPriceUpScaled = price < minimumPriceUpscaled ? minimumPriceUpscaled : price;
        uint256 pushed = currentPrice();
        try postageStamp.setPrice(pushed) {
            emit PriceUpdate(pushed);
            return true;
        } catch {
            emit StampPriceUpdateFailed(pushed);
            return false;
        }
    }
}
