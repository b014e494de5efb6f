// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {BatchQueue} from "./BatchQueue.sol";
import {Pausing} from "./Pausing.sol";

/// Sells batches of postage stamps. Every chunk of every batch pays the price of the moment per block;
/// what batches have paid collects in a pot for the winners of the redistribution game. Balances are kept
/// "normalised": as the total payment per chunk since deployment at which the batch will be empty.
contract PostageStamp is AccessControl, Pausing {
    using BatchQueue for BatchQueue.Queue;

    struct Batch {
        address owner;
        uint8 depth;
        uint8 bucketDepth;
        bool immutableFlag;
        uint256 normalisedBalance;
        uint256 lastUpdatedBlockNumber;
    }

    struct ImportBatch {
        bytes32 batchId;
        address owner;
        uint8 depth;
        uint8 bucketDepth;
        bool immutableFlag;
        uint256 remainingBalance;
    }

    bytes32 public constant PRICE_ORACLE_ROLE = keccak256("PRICE_ORACLE_ROLE");
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");
    bytes32 public constant REDISTRIBUTOR_ROLE = keccak256("REDISTRIBUTOR_ROLE");

    address public immutable bzzToken;
    uint8 public immutable minimumBucketDepth;

    mapping(bytes32 batchId => Batch) public batches;
    uint64 public minimumValidityBlocks = 17280;
    uint64 public lastPrice;
    uint64 public lastUpdatedBlock;
    uint256 public validChunkCount;
    uint256 public pot;
    uint256 public lastExpiryBalance;
    uint256 private totalOutPayment;
    BatchQueue.Queue private queue;

    event BatchCreated(
        bytes32 indexed batchId,
        uint256 totalAmount,
        uint256 normalisedBalance,
        address owner,
        uint8 depth,
        uint8 bucketDepth,
        bool immutableFlag
    );
    event BatchTopUp(bytes32 indexed batchId, uint256 topupAmount, uint256 normalisedBalance);
    event BatchDepthIncrease(bytes32 indexed batchId, uint8 newDepth, uint256 normalisedBalance);
    event PriceUpdate(uint256 price);
    event PotWithdrawn(address recipient, uint256 totalAmount);
    event CopyBatchFailed(uint256 index, bytes32 batchId);

    error ZeroAddress();
    error InvalidDepth();
    error BatchExists();
    error InsufficientBalance();
    error TransferFailed();
    error ZeroBalance();
    error AdministratorOnly();
    error BatchDoesNotExist();
    error BatchExpired();
    error BatchTooSmall();
    error NotBatchOwner();
    error DepthNotIncreasing();
    error PriceOracleOnly();
    error InsufficienChunkCount();
    error TotalOutpaymentDecreased();
    error NoBatchesExist();
    error OnlyPauser();
    error OnlyRedistributor();

    constructor(address _bzzToken, uint8 _minimumBucketDepth) {
        bzzToken = _bzzToken;
        minimumBucketDepth = _minimumBucketDepth;
        _grantRole(DEFAULT_ADMIN_ROLE, msg.sender);
        _grantRole(PAUSER_ROLE, msg.sender);
    }

    modifier onlyAdministrator() {
        if (!hasRole(DEFAULT_ADMIN_ROLE, msg.sender)) revert AdministratorOnly();
        _;
    }

    modifier onlyPauser() {
        if (!hasRole(PAUSER_ROLE, msg.sender)) revert OnlyPauser();
        _;
    }

    // ── Batches ──────────────────────────────────────────────────────────────────────────────────────────

    function createBatch(
        address _owner,
        uint256 _initialBalancePerChunk,
        uint8 _depth,
        uint8 _bucketDepth,
        bytes32 _nonce,
        bool _immutable
    ) external whenNotPaused returns (bytes32 batchId) {
        if (_owner == address(0)) revert ZeroAddress();
        if (_bucketDepth == 0 || _bucketDepth < minimumBucketDepth || _bucketDepth >= _depth) revert InvalidDepth();
        batchId = keccak256(abi.encode(msg.sender, _nonce));
        if (batches[batchId].owner != address(0)) revert BatchExists();
        if (_initialBalancePerChunk < minimumInitialBalancePerChunk()) revert InsufficientBalance();

        uint256 totalAmount = _initialBalancePerChunk * _chunksOf(_depth);
        _collect(totalAmount);
        _addBatch(batchId, totalAmount, _owner, _initialBalancePerChunk, _depth, _bucketDepth, _immutable);
    }

    /// Creates a batch of another contract without payment: the pot may then exceed the token balance.
    function copyBatch(
        address _owner,
        uint256 _initialBalancePerChunk,
        uint8 _depth,
        uint8 _bucketDepth,
        bytes32 _batchId,
        bool _immutable
    ) external onlyAdministrator whenNotPaused {
        if (_owner == address(0)) revert ZeroAddress();
        if (_bucketDepth == 0 || _bucketDepth >= _depth) revert InvalidDepth();
        if (batches[_batchId].owner != address(0)) revert BatchExists();

        uint256 totalAmount = _initialBalancePerChunk * _chunksOf(_depth);
        _addBatch(_batchId, totalAmount, _owner, _initialBalancePerChunk, _depth, _bucketDepth, _immutable);
    }

    /// Copies each batch through a call to itself, so that one failure spares the others. The sender of those
    /// calls is this contract: it needs the administrator's role, otherwise every element fails.
    function copyBatchBulk(ImportBatch[] calldata bulkBatches) external onlyAdministrator {
        for (uint256 i = 0; i < bulkBatches.length; i++) {
            ImportBatch calldata b = bulkBatches[i];
            try this.copyBatch(b.owner, b.remainingBalance, b.depth, b.bucketDepth, b.batchId, b.immutableFlag) {}
            catch {
                emit CopyBatchFailed(i, b.batchId);
            }
        }
    }

    function topUp(bytes32 _batchId, uint256 _topupAmountPerChunk) external whenNotPaused {
        Batch storage batch = batches[_batchId];
        if (batch.owner == address(0)) revert BatchDoesNotExist();
        uint256 balance = batch.normalisedBalance;
        if (balance <= currentTotalOutPayment()) revert BatchExpired();
        if (batch.depth <= minimumBucketDepth) revert BatchTooSmall();
        if (remainingBalance(_batchId) + _topupAmountPerChunk < minimumInitialBalancePerChunk()) {
            revert InsufficientBalance();
        }

        uint256 totalAmount = _topupAmountPerChunk * _chunksOf(batch.depth);
        _collect(totalAmount);
        uint256 newBalance = balance + _topupAmountPerChunk;
        _rebalance(_batchId, batch, newBalance);
        emit BatchTopUp(_batchId, totalAmount, newBalance);
    }

    function increaseDepth(bytes32 _batchId, uint8 _newDepth) external whenNotPaused {
        Batch storage batch = batches[_batchId];
        if (batch.owner != msg.sender) revert NotBatchOwner();
        uint8 depth = batch.depth;
        if (_newDepth <= minimumBucketDepth || _newDepth <= depth) revert DepthNotIncreasing();
        if (batch.normalisedBalance <= currentTotalOutPayment()) revert BatchExpired();
        uint256 newRemaining = remainingBalance(_batchId) / _chunksOf(_newDepth - depth);
        if (newRemaining < minimumInitialBalancePerChunk()) revert InsufficientBalance();

        expireLimited(type(uint256).max);
        validChunkCount += _chunksOf(_newDepth) - _chunksOf(depth);
        uint256 newBalance = currentTotalOutPayment() + newRemaining;
        _rebalance(_batchId, batch, newBalance);
        batch.depth = _newDepth;
        batch.lastUpdatedBlockNumber = block.number;
        emit BatchDepthIncrease(_batchId, _newDepth, newBalance);
    }

    function _addBatch(
        bytes32 batchId,
        uint256 totalAmount,
        address owner,
        uint256 balancePerChunk,
        uint8 depth,
        uint8 bucketDepth,
        bool immutableFlag
    ) private {
        uint256 normalisedBalance = currentTotalOutPayment() + balancePerChunk;
        if (normalisedBalance == 0) revert ZeroBalance();
        expireLimited(type(uint256).max);
        validChunkCount += _chunksOf(depth);
        batches[batchId] = Batch(owner, depth, bucketDepth, immutableFlag, normalisedBalance, block.number);
        queue.insert(batchId, normalisedBalance);
        emit BatchCreated(batchId, totalAmount, normalisedBalance, owner, depth, bucketDepth, immutableFlag);
    }

    function _rebalance(bytes32 batchId, Batch storage batch, uint256 newBalance) private {
        queue.remove(batchId, batch.normalisedBalance);
        queue.insert(batchId, newBalance);
        batch.normalisedBalance = newBalance;
    }

    function _collect(uint256 amount) private {
        if (!IERC20(bzzToken).transferFrom(msg.sender, address(this), amount)) revert TransferFailed();
    }

    function _chunksOf(uint8 depth) private pure returns (uint256) {
        return uint256(1) << depth;
    }

    // ── Price, expiry and pot ────────────────────────────────────────────────────────────────────────────

    function setPrice(uint256 _price) external {
        if (!hasRole(PRICE_ORACLE_ROLE, msg.sender)) revert PriceOracleOnly();
        if (lastPrice != 0) totalOutPayment = currentTotalOutPayment();
        lastPrice = uint64(_price);
        lastUpdatedBlock = uint64(block.number);
        emit PriceUpdate(_price);
    }

    function setMinimumValidityBlocks(uint64 _value) external onlyAdministrator {
        minimumValidityBlocks = _value;
    }

    /// Removes up to `limit` empty batches and moves what chunks paid since the last complete run to the pot.
    function expireLimited(uint256 limit) public {
        uint256 since = lastExpiryBalance;
        uint256 paid = currentTotalOutPayment();
        for (uint256 i = 0; i < limit; i++) {
            if (!expiredBatchesExist()) {
                lastExpiryBalance = paid;
                break;
            }
            _expireFirst(since);
        }
        uint256 until = lastExpiryBalance;
        if (until < since) revert TotalOutpaymentDecreased();
        pot += validChunkCount * (until - since);
    }

    function _expireFirst(uint256 since) private {
        bytes32 batchId = queue.first();
        Batch storage batch = batches[batchId];
        uint256 chunks = _chunksOf(batch.depth);
        uint256 balance = batch.normalisedBalance;
        if (validChunkCount < chunks) revert InsufficienChunkCount();
        validChunkCount -= chunks;
        pot += chunks * (balance - since);
        queue.remove(batchId, balance);
        delete batches[batchId];
    }

    function totalPot() public returns (uint256) {
        expireLimited(type(uint256).max);
        uint256 held = IERC20(bzzToken).balanceOf(address(this));
        return pot < held ? pot : held;
    }

    function withdraw(address beneficiary) external {
        if (!hasRole(REDISTRIBUTOR_ROLE, msg.sender)) revert OnlyRedistributor();
        uint256 amount = totalPot();
        pot = 0;
        if (!IERC20(bzzToken).transfer(beneficiary, amount)) revert TransferFailed();
        emit PotWithdrawn(beneficiary, amount);
    }

    function pause() external onlyPauser {
        _pause();
    }

    function unPause() external onlyPauser {
        _unpause();
    }

    // ── Views ────────────────────────────────────────────────────────────────────────────────────────────

    /// What one chunk has paid since deployment.
    function currentTotalOutPayment() public view returns (uint256) {
        return totalOutPayment + uint256(lastPrice) * (block.number - lastUpdatedBlock);
    }

    /// The product is computed in 64 bits: absurd prices fail instead of selling batches for nothing.
    function minimumInitialBalancePerChunk() public view returns (uint256) {
        return minimumValidityBlocks * lastPrice;
    }

    function remainingBalance(bytes32 _batchId) public view returns (uint256) {
        Batch storage batch = batches[_batchId];
        if (batch.owner == address(0)) revert BatchDoesNotExist();
        uint256 paid = currentTotalOutPayment();
        return batch.normalisedBalance > paid ? batch.normalisedBalance - paid : 0;
    }

    function expiredBatchesExist() public view returns (bool) {
        return !queue.isEmpty() && remainingBalance(queue.first()) == 0;
    }

    function isBatchesTreeEmpty() external view returns (bool) {
        return queue.isEmpty();
    }

    function firstBatchId() external view returns (bytes32) {
        if (queue.isEmpty()) revert NoBatchesExist();
        return queue.first();
    }

    function batchOwner(bytes32 _batchId) external view returns (address) {
        return batches[_batchId].owner;
    }

    function batchDepth(bytes32 _batchId) external view returns (uint8) {
        return batches[_batchId].depth;
    }

    function batchBucketDepth(bytes32 _batchId) external view returns (uint8) {
        return batches[_batchId].bucketDepth;
    }

    function batchImmutableFlag(bytes32 _batchId) external view returns (bool) {
        return batches[_batchId].immutableFlag;
    }

    function batchNormalisedBalance(bytes32 _batchId) external view returns (uint256) {
        return batches[_batchId].normalisedBalance;
    }

    function batchLastUpdatedBlockNumber(bytes32 _batchId) external view returns (uint256) {
        return batches[_batchId].lastUpdatedBlockNumber;
    }
}
