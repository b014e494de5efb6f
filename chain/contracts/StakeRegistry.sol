// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Pausing} from "./Pausing.sol";
import {PriceOracle} from "./PriceOracle.sol";

/// The stakes of nodes and the overlays they play with. A stake is committed in units of storage price, so
/// that its effective value follows the price up to what was deposited; the surplus can be withdrawn.
contract StakeRegistry is AccessControl, Pausing {
    struct Stake {
        bytes32 overlay;
        uint256 committedStake;
        uint256 potentialStake;
        uint256 lastUpdatedBlockNumber;
        uint8 height;
    }

    bytes32 public constant REDISTRIBUTOR_ROLE = keccak256("REDISTRIBUTOR_ROLE");
    uint256 private constant MIN_STAKE = 1e17;

    address public immutable bzzToken;
    PriceOracle public immutable OracleContract;

    mapping(address owner => Stake) public stakes;
    uint64 private networkId;

    event StakeUpdated(
        address indexed owner,
        uint256 committedStake,
        uint256 potentialStake,
        bytes32 overlay,
        uint256 lastUpdatedBlock,
        uint8 height
    );
    event OverlayChanged(address owner, bytes32 overlay);
    event StakeFrozen(address frozen, bytes32 overlay, uint256 time);
    event StakeSlashed(address slashed, bytes32 overlay, uint256 amount);
    event StakeWithdrawn(address node, uint256 amount);

    error BelowMinimumStake();
    error Frozen();
    error DecreasedCommitment();
    error TransferFailed();
    error Unauthorized();
    error OnlyRedistributor();
    error OnlyPauser();

    constructor(address _bzzToken, uint64 _NetworkId, address _oracleContract) {
        bzzToken = _bzzToken;
        networkId = _NetworkId;
        OracleContract = PriceOracle(_oracleContract);
        _grantRole(DEFAULT_ADMIN_ROLE, msg.sender);
    }

    modifier onlyRedistributor() {
        if (!hasRole(REDISTRIBUTOR_ROLE, msg.sender)) revert OnlyRedistributor();
        _;
    }

    modifier onlyPauser() {
        if (!hasRole(DEFAULT_ADMIN_ROLE, msg.sender)) revert OnlyPauser();
        _;
    }

    /// Stakes, adds to a stake, or (with no amount) changes the overlay and the reserve height.
    function manageStake(bytes32 _setNonce, uint256 _addAmount, uint8 _height) external whenNotPaused {
        Stake memory stake = stakes[msg.sender];
        if (stake.lastUpdatedBlockNumber == 0 && _addAmount < MIN_STAKE * 2 ** _height) revert BelowMinimumStake();
        if (stake.lastUpdatedBlockNumber >= block.number) revert Frozen();

        bytes32 previousOverlay = stake.overlay;
        stake.overlay = keccak256(abi.encodePacked(msg.sender, _littleEndian(networkId), _setNonce));
        stake.height = _height;
        stake.lastUpdatedBlockNumber = block.number;
        if (_addAmount > 0) {
            uint256 committed = stake.committedStake;
            stake.potentialStake += _addAmount;
            stake.committedStake = stake.potentialStake / (OracleContract.currentPrice() * 2 ** _height);
            if (stake.committedStake < committed) revert DecreasedCommitment();
        }
        stakes[msg.sender] = stake;

        if (_addAmount > 0) {
            if (!IERC20(bzzToken).transferFrom(msg.sender, address(this), _addAmount)) revert TransferFailed();
            emit StakeUpdated(
                msg.sender, stake.committedStake, stake.potentialStake, stake.overlay, block.number, _height
            );
        }
        if (previousOverlay != stake.overlay) emit OverlayChanged(msg.sender, stake.overlay);
    }

    function withdrawFromStake() external {
        uint256 surplus = withdrawableStake();
        if (surplus == 0) return;
        stakes[msg.sender].potentialStake -= surplus;
        _payOut(surplus);
        emit StakeWithdrawn(msg.sender, surplus);
    }

    /// Returns the whole stake; only while this registry is paused in favour of a successor.
    function migrateStake() external whenPaused {
        Stake memory stake = stakes[msg.sender];
        if (stake.lastUpdatedBlockNumber == 0) return;
        delete stakes[msg.sender];
        _payOut(stake.potentialStake);
    }

    function freezeDeposit(address _owner, uint256 _time) external onlyRedistributor {
        Stake storage stake = stakes[_owner];
        if (stake.lastUpdatedBlockNumber == 0) return;
        stake.lastUpdatedBlockNumber = block.number + _time;
        emit StakeFrozen(_owner, stake.overlay, _time);
    }

    function slashDeposit(address _owner, uint256 _amount) external onlyRedistributor {
        Stake storage stake = stakes[_owner];
        if (stake.potentialStake > _amount) {
            stake.potentialStake -= _amount;
            stake.lastUpdatedBlockNumber = block.number;
        } else {
            delete stakes[_owner];
        }
        emit StakeSlashed(_owner, stake.overlay, _amount);
    }

    function changeNetworkId(uint64 _NetworkId) external {
        if (!hasRole(DEFAULT_ADMIN_ROLE, msg.sender)) revert Unauthorized();
        networkId = _NetworkId;
    }

    function pause() external onlyPauser {
        _pause();
    }

    function unPause() external onlyPauser {
        _unpause();
    }

    /// The stake that counts in the game: nothing in the block of the last change and while frozen.
    function nodeEffectiveStake(address _owner) external view returns (uint256) {
        Stake memory stake = stakes[_owner];
        return stake.lastUpdatedBlockNumber < block.number ? _effective(stake) : 0;
    }

    function withdrawableStake() public view returns (uint256) {
        Stake memory stake = stakes[msg.sender];
        return stake.potentialStake - _effective(stake);
    }

    function lastUpdatedBlockNumberOfAddress(address _owner) external view returns (uint256) {
        return stakes[_owner].lastUpdatedBlockNumber;
    }

    function overlayOfAddress(address _owner) external view returns (bytes32) {
        return stakes[_owner].overlay;
    }

    function heightOfAddress(address _owner) external view returns (uint8) {
        return stakes[_owner].height;
    }

    function _effective(Stake memory stake) private view returns (uint256) {
        uint256 priced = 2 ** stake.height * stake.committedStake * OracleContract.currentPrice();
        return priced < stake.potentialStake ? priced : stake.potentialStake;
    }

    function _payOut(uint256 amount) private {
        if (!IERC20(bzzToken).transfer(msg.sender, amount)) revert TransferFailed();
    }

    /// Overlays hash the network id with its lowest byte first.
    function _littleEndian(uint64 value) private pure returns (bytes8) {
        uint64 reversed;
        for (uint256 i = 0; i < 8; i++) {
            reversed = (reversed << 8) | (value & 0xff);
            value >>= 8;
        }
        return bytes8(reversed);
    }
}
