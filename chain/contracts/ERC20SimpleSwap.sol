// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Signatures} from "./Signatures.sol";

/// A chequebook: its issuer signs cumulative cheques off the chain, beneficiaries cash them here. A cheque
/// the balance does not cover is paid as far as possible and marks the chequebook as bounced for ever; a hard
/// deposit is a part of the balance that only one beneficiary can be paid from.
contract ERC20SimpleSwap {
    struct HardDeposit {
        uint256 amount;
        uint256 decreaseAmount;
        uint256 timeout;
        uint256 canBeDecreasedAt;
    }

    bytes32 public constant EIP712DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId)");
    bytes32 public constant CHEQUE_TYPEHASH =
        keccak256("Cheque(address chequebook,address beneficiary,uint256 cumulativePayout)");
    bytes32 public constant CASHOUT_TYPEHASH = keccak256(
        "Cashout(address chequebook,address sender,uint256 requestPayout,address recipient,uint256 callerPayout)"
    );
    bytes32 public constant CUSTOMDECREASETIMEOUT_TYPEHASH =
        keccak256("CustomDecreaseTimeout(address chequebook,address beneficiary,uint256 decreaseTimeout)");

    IERC20 public token;
    address public issuer;
    bool public bounced;
    uint256 public defaultHardDepositTimeout;
    mapping(address beneficiary => uint256) public paidOut;
    uint256 public totalPaidOut;
    mapping(address beneficiary => HardDeposit) public hardDeposits;
    uint256 public totalHardDeposit;

    event ChequeCashed(
        address indexed beneficiary,
        address indexed recipient,
        address indexed caller,
        uint256 totalPayout,
        uint256 cumulativePayout,
        uint256 callerPayout
    );
    event ChequeBounced();
    event HardDepositAmountChanged(address indexed beneficiary, uint256 amount);
    event HardDepositDecreasePrepared(address indexed beneficiary, uint256 decreaseAmount);
    event HardDepositTimeoutChanged(address indexed beneficiary, uint256 timeout);
    /// Part of the interface only: a withdrawal is visible as a transfer of the token.
    event Withdraw(uint256 amount);

    /// Takes the place of a constructor, because chequebooks are proxies of one master copy.
    function init(address _issuer, address _token, uint256 _defaultHardDepositTimeout) external {
        require(_issuer != address(0), "invalid issuer");
        require(issuer == address(0), "already initialized");
        issuer = _issuer;
        token = IERC20(_token);
        defaultHardDepositTimeout = _defaultHardDepositTimeout;
    }

    // ── Cheques ──────────────────────────────────────────────────────────────────────────────────────────

    function cashChequeBeneficiary(address recipient, uint256 cumulativePayout, bytes calldata issuerSig) external {
        _cash(msg.sender, recipient, cumulativePayout, 0, issuerSig);
    }

    /// Cashes in the name of a beneficiary, who authorised it and leaves `callerPayout` to the caller.
    function cashCheque(
        address beneficiary,
        address recipient,
        uint256 cumulativePayout,
        bytes calldata beneficiarySig,
        uint256 callerPayout,
        bytes calldata issuerSig
    ) external {
        bytes32 authorisation = keccak256(
            abi.encode(CASHOUT_TYPEHASH, address(this), msg.sender, cumulativePayout, recipient, callerPayout)
        );
        require(_signer(authorisation, beneficiarySig) == beneficiary, "invalid beneficiary signature");
        _cash(beneficiary, recipient, cumulativePayout, callerPayout, issuerSig);
    }

    function _cash(
        address beneficiary,
        address recipient,
        uint256 cumulativePayout,
        uint256 callerPayout,
        bytes calldata issuerSig
    ) private {
        if (msg.sender != issuer) {
            bytes32 cheque = keccak256(abi.encode(CHEQUE_TYPEHASH, address(this), beneficiary, cumulativePayout));
            require(_signer(cheque, issuerSig) == issuer, "invalid issuer signature");
        }
        uint256 before = paidOut[beneficiary];
        require(cumulativePayout >= before, "SafeMath: subtraction overflow");
        uint256 request = cumulativePayout - before;
        uint256 payout = _min(request, liquidBalanceFor(beneficiary));
        require(payout >= callerPayout, "SimpleSwap: cannot pay caller");

        _useHardDeposit(beneficiary, payout);
        paidOut[beneficiary] = before + payout;
        totalPaidOut += payout;
        if (payout < request) {
            bounced = true;
            emit ChequeBounced();
        }
        if (callerPayout != 0) _pay(msg.sender, callerPayout);
        _pay(recipient, payout - callerPayout);
        emit ChequeCashed(beneficiary, recipient, msg.sender, payout, cumulativePayout, callerPayout);
    }

    function _useHardDeposit(address beneficiary, uint256 payout) private {
        HardDeposit storage deposit = hardDeposits[beneficiary];
        uint256 used = _min(payout, deposit.amount);
        if (used == 0) return;
        deposit.amount -= used;
        totalHardDeposit -= used;
    }

    function withdraw(uint256 amount) external {
        require(msg.sender == issuer, "not issuer");
        require(amount <= liquidBalance(), "liquidBalance not sufficient");
        _pay(issuer, amount);
    }

    // ── Hard deposits ────────────────────────────────────────────────────────────────────────────────────

    function increaseHardDeposit(address beneficiary, uint256 amount) external {
        require(msg.sender == issuer, "SimpleSwap: not issuer");
        require(totalHardDeposit + amount <= balance(), "hard deposit exceeds balance");
        HardDeposit storage deposit = hardDeposits[beneficiary];
        deposit.amount += amount;
        totalHardDeposit += amount;
        deposit.canBeDecreasedAt = 0;
        emit HardDepositAmountChanged(beneficiary, deposit.amount);
    }

    function prepareDecreaseHardDeposit(address beneficiary, uint256 decreaseAmount) external {
        require(msg.sender == issuer, "SimpleSwap: not issuer");
        HardDeposit storage deposit = hardDeposits[beneficiary];
        require(decreaseAmount <= deposit.amount, "hard deposit not sufficient");
        uint256 timeout = deposit.timeout == 0 ? defaultHardDepositTimeout : deposit.timeout;
        deposit.canBeDecreasedAt = block.timestamp + timeout;
        deposit.decreaseAmount = decreaseAmount;
        emit HardDepositDecreasePrepared(beneficiary, decreaseAmount);
    }

    function decreaseHardDeposit(address beneficiary) external {
        HardDeposit storage deposit = hardDeposits[beneficiary];
        uint256 dueAt = deposit.canBeDecreasedAt;
        require(dueAt != 0 && block.timestamp >= dueAt, "deposit not yet timed out");
        uint256 decrease = deposit.decreaseAmount;
        // Cheques cashed in between may have used up more than what would remain.
        require(decrease <= deposit.amount, "SafeMath: subtraction overflow");
        deposit.amount -= decrease;
        totalHardDeposit -= decrease;
        deposit.canBeDecreasedAt = 0;
        emit HardDepositAmountChanged(beneficiary, deposit.amount);
    }

    function setCustomHardDepositTimeout(
        address beneficiary,
        uint256 hardDepositTimeout,
        bytes calldata beneficiarySig
    ) external {
        require(msg.sender == issuer, "not issuer");
        bytes32 agreement =
            keccak256(abi.encode(CUSTOMDECREASETIMEOUT_TYPEHASH, address(this), beneficiary, hardDepositTimeout));
        require(_signer(agreement, beneficiarySig) == beneficiary, "invalid beneficiary signature");
        hardDeposits[beneficiary].timeout = hardDepositTimeout;
        emit HardDepositTimeoutChanged(beneficiary, hardDepositTimeout);
    }

    // ── Views ────────────────────────────────────────────────────────────────────────────────────────────

    function balance() public view returns (uint256) {
        return token.balanceOf(address(this));
    }

    function liquidBalance() public view returns (uint256) {
        return balance() - totalHardDeposit;
    }

    function liquidBalanceFor(address beneficiary) public view returns (uint256) {
        return liquidBalance() + hardDeposits[beneficiary].amount;
    }

    /// Signer of a typed struct. The domain is computed at each call: proxies share the master's constants.
    function _signer(bytes32 structHash, bytes calldata signature) private view returns (address) {
        bytes32 domain =
            keccak256(abi.encode(EIP712DOMAIN_TYPEHASH, keccak256("Chequebook"), keccak256("1.0"), block.chainid));
        return Signatures.recoverStrict(keccak256(abi.encodePacked("\x19\x01", domain, structHash)), signature);
    }

    function _pay(address to, uint256 amount) private {
        require(token.transfer(to, amount), "transfer failed");
    }

    function _min(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
