// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ChunkProof} from "./ChunkProof.sol";
import {Pausing} from "./Pausing.sol";
import {PostageStamp} from "./PostageStamp.sol";
import {PriceOracle} from "./PriceOracle.sol";
import {Signatures} from "./Signatures.sol";
import {StakeRegistry} from "./StakeRegistry.sol";

/// The game that pays storers. In each round of 152 blocks the stakers near an anchor commit to a sample of
/// their reserve, reveal it, and one of those who agree, drawn by stake, proves that it holds the sample and
/// receives what the postage batches have paid since. Who disagrees or stays silent is frozen.
contract Redistribution is AccessControl, Pausing {
    struct Commit {
        bytes32 overlay;
        address owner;
        bool revealed;
        uint8 height;
        uint256 stake;
        bytes32 obfuscatedHash;
        uint256 revealIndex;
    }

    struct Reveal {
        bytes32 overlay;
        address owner;
        uint8 depth;
        uint256 stake;
        uint256 stakeDensity;
        bytes32 hash;
    }

    struct PostageProof {
        bytes signature;
        bytes32 postageId;
        uint64 index;
        uint64 timeStamp;
    }

    struct SOCProof {
        address signer;
        bytes signature;
        bytes32 identifier;
        bytes32 chunkAddr;
    }

    /// Proof for one element of the sample: its place in the reserve commitment (proofSegments), one segment
    /// of its payload (proofSegments2), and the same segment in the tree transformed by the anchor
    /// (proofSegments3); the stamp; and for a single-owner chunk its owner's signature.
    struct ChunkInclusionProof {
        bytes32[] proofSegments;
        bytes32 proveSegment;
        bytes32[] proofSegments2;
        bytes32 proveSegment2;
        uint64 chunkSpan;
        bytes32[] proofSegments3;
        PostageProof postageProof;
        SOCProof[] socProof;
    }

    uint64 private constant ROUND_LENGTH = 152;
    uint64 private constant PHASE_LENGTH = 38;
    /// The reserve commitment is a chunk of 16 elements: chunk address and transformed address of each.
    uint256 private constant LAST_ELEMENT = 15;
    uint64 private constant COMMITMENT_SPAN = 1024;
    uint256 private constant SEGMENTS_OF_CHUNK = 128;

    StakeRegistry public immutable Stakes;
    PostageStamp public immutable PostageContract;
    PriceOracle public immutable OracleContract;

    bytes32 private seed;
    bytes32 private revealAnchor;
    Commit[] private commits;
    Reveal[] private reveals;
    Reveal public winner;

    uint64 public currentCommitRound;
    uint64 public currentRevealRound;
    uint64 public currentClaimRound;

    uint8 private penaltyDisagreement = 1;
    uint8 private penaltyNonRevealed = 2;
    uint8 private penaltyRandomFactor = 100;
    /// The last transformed address of a sample of a reserve of millions of chunks lies below this.
    uint256 private sampleMaxValue = 1284401 * 10 ** 66;

    event Committed(uint256 roundNumber, bytes32 overlay, uint8 height);
    event Revealed(
        uint256 roundNumber,
        bytes32 overlay,
        uint256 stake,
        uint256 stakeDensity,
        bytes32 reserveCommitment,
        uint8 depth
    );
    event CurrentRevealAnchor(uint256 roundNumber, bytes32 anchor);
    event CountCommits(uint256 _count);
    event CountReveals(uint256 _count);
    event TruthSelected(bytes32 hash, uint8 depth);
    event WinnerSelected(Reveal winner);
    event ChunkCount(uint256 validChunkCount);
    event PriceAdjustmentSkipped(uint16 redundancyCount);
    event WithdrawFailed(address owner);
    event transformedChunkAddressFromInclusionProof(uint256 indexInRC, bytes32 chunkAddress);

    error AlreadyClaimed();
    error AlreadyCommitted();
    error AlreadyRevealed();
    error BatchDoesNotExist(bytes32);
    error BucketDiffers(bytes32);
    error CommitRoundNotStarted();
    error CommitRoundOver();
    error FirstRevealDone();
    error InclusionProofFailed(uint8, bytes32);
    error IndexOutsideSet(bytes32);
    error InvalidSignatureLength();
    error LastElementCheckFailed();
    error MustStake2Rounds();
    error NoCommitsReceived();
    error NoMatchingCommit();
    error NoReveals();
    error NotAdmin();
    error NotClaimPhase();
    error NotCommitPhase();
    /// Part of the interface only: owners are found by their sender, so they always match.
    error NotMatchingOwner();
    error NotRevealPhase();
    error NotStaked();
    error OnlyPauser();
    error OutOfDepth();
    error OutOfDepthClaim(uint8);
    error OutOfDepthReveal(bytes32);
    error PhaseLastBlock();
    error RandomElementCheckFailed();
    error ReserveCheckFailed(bytes32 trALast);
    error SigRecoveryFailed(bytes32);
    error SocCalcNotMatching(bytes32);
    error SocVerificationFailed(bytes32);
    error WrongPhase();

    constructor(address staking, address postageContract, address oracleContract) {
        Stakes = StakeRegistry(staking);
        PostageContract = PostageStamp(postageContract);
        OracleContract = PriceOracle(oracleContract);
        _grantRole(DEFAULT_ADMIN_ROLE, msg.sender);
    }

    modifier onlyAdmin() {
        if (!hasRole(DEFAULT_ADMIN_ROLE, msg.sender)) revert NotAdmin();
        _;
    }

    modifier onlyPauser() {
        if (!hasRole(DEFAULT_ADMIN_ROLE, msg.sender)) revert OnlyPauser();
        _;
    }

    // ── Commit and reveal ────────────────────────────────────────────────────────────────────────────────

    function commit(bytes32 _obfuscatedHash, uint64 _roundNumber) external whenNotPaused {
        _requireSettledStake(msg.sender);
        uint64 round = currentRound();
        if (round > _roundNumber) revert CommitRoundOver();
        if (round < _roundNumber) revert CommitRoundNotStarted();
        if (!currentPhaseCommit()) revert NotCommitPhase();
        if (block.number % ROUND_LENGTH == PHASE_LENGTH - 1) revert PhaseLastBlock();

        if (round != currentCommitRound) {
            delete commits;
            currentCommitRound = round;
        }
        bytes32 overlay = Stakes.overlayOfAddress(msg.sender);
        for (uint256 i = 0; i < commits.length; i++) {
            if (commits[i].overlay == overlay) revert AlreadyCommitted();
        }
        uint8 height = Stakes.heightOfAddress(msg.sender);
        uint256 stake = Stakes.nodeEffectiveStake(msg.sender);
        commits.push(Commit(overlay, msg.sender, false, height, stake, _obfuscatedHash, 0));
        emit Committed(_roundNumber, overlay, height);
    }

    function reveal(uint8 _depth, bytes32 _hash, bytes32 _revealNonce) external whenNotPaused {
        uint64 round = currentRound();
        if (round != currentCommitRound) revert NoCommitsReceived();
        if (!currentPhaseReveal()) revert NotRevealPhase();
        if (_depth < currentMinimumDepth()) revert OutOfDepth();
        if (round != currentRevealRound) _startReveals(round);

        bytes32 overlay = Stakes.overlayOfAddress(msg.sender);
        Commit storage committed = _findCommit(overlay, wrapCommit(overlay, _depth, _hash, _revealNonce));
        uint8 depthResponsibility = _depth - committed.height;
        if (!inProximity(overlay, revealAnchor, depthResponsibility)) revert OutOfDepthReveal(revealAnchor);
        if (committed.revealed) revert AlreadyRevealed();

        committed.revealed = true;
        committed.revealIndex = reveals.length;
        uint256 stake = committed.stake;
        uint256 density = stake * 2 ** depthResponsibility;
        reveals.push(Reveal(overlay, committed.owner, _depth, stake, density, _hash));
        emit Revealed(round, overlay, stake, density, _hash, _depth);
    }

    /// The first reveal of a round fixes the anchor and moves the seed on, which nobody could foresee.
    function _startReveals(uint64 round) private {
        revealAnchor = currentRoundAnchor();
        delete reveals;
        currentRevealRound = round;
        emit CurrentRevealAnchor(round, revealAnchor);
        seed = keccak256(abi.encode(seed, block.prevrandao));
    }

    function _findCommit(bytes32 overlay, bytes32 obfuscatedHash) private view returns (Commit storage) {
        for (uint256 i = 0; i < commits.length; i++) {
            if (commits[i].overlay == overlay && commits[i].obfuscatedHash == obfuscatedHash) return commits[i];
        }
        revert NoMatchingCommit();
    }

    function _requireSettledStake(address owner) private view {
        uint256 lastUpdated = Stakes.lastUpdatedBlockNumberOfAddress(owner);
        if (lastUpdated == 0) revert NotStaked();
        if (lastUpdated >= block.number - 2 * ROUND_LENGTH) revert MustStake2Rounds();
    }

    // ── Claim ────────────────────────────────────────────────────────────────────────────────────────────

    /// Anyone may send the proofs; the owner of the winning overlay is paid.
    function claim(
        ChunkInclusionProof calldata entryProof1,
        ChunkInclusionProof calldata entryProof2,
        ChunkInclusionProof calldata entryProofLast
    ) external whenNotPaused {
        _settleRound();
        uint256 x1 = uint256(seed) % LAST_ELEMENT;
        uint256 x2 = uint256(seed) % (LAST_ELEMENT - 1);
        if (x2 >= x1) x2++;

        _checkElement(entryProofLast, LAST_ELEMENT, 3);
        _checkElement(entryProof1, x1, 2);
        _checkElement(entryProof2, x2, 1);
        if (x1 < x2) _checkOrder(entryProof1, entryProof2, entryProofLast);
        else _checkOrder(entryProof2, entryProof1, entryProofLast);

        try PostageContract.withdraw(winner.owner) {}
        catch {
            emit WithdrawFailed(winner.owner);
        }
        emit WinnerSelected(winner);
        emit ChunkCount(PostageContract.validChunkCount());
    }

    /// Truth, winner, penalties and price of the round, all from what was revealed.
    function _settleRound() private {
        _requireClaimable();
        emit CountCommits(commits.length);
        emit CountReveals(reveals.length);
        (bytes32 hash, uint8 depth) = _drawTruth();
        emit TruthSelected(hash, depth);
        uint256 agreeing;
        (winner, agreeing) = _drawWinner(hash, depth);
        _penalise(hash, depth);

        uint16 redundancy = uint16(agreeing);
        if (!OracleContract.adjustPrice(redundancy)) emit PriceAdjustmentSkipped(redundancy);
        currentClaimRound = currentRound();
    }

    function _requireClaimable() private view {
        uint64 round = currentRound();
        if (!currentPhaseClaim()) revert NotClaimPhase();
        if (round != currentRevealRound) revert NoReveals();
        if (round <= currentClaimRound) revert AlreadyClaimed();
    }

    /// Draws one reveal by stake density. Each candidate replaces the one before with the probability that
    /// its share has of the sum so far, which gives everyone the share of the whole.
    function _drawTruth() private view returns (bytes32 hash, uint8 depth) {
        uint256 sum;
        for (uint256 i = 0; i < commits.length; i++) {
            if (!commits[i].revealed) continue;
            Reveal storage candidate = reveals[commits[i].revealIndex];
            sum += candidate.stakeDensity;
            if (_drawn("0", i, candidate.stakeDensity, sum)) (hash, depth) = (candidate.hash, candidate.depth);
        }
    }

    function _drawWinner(bytes32 hash, uint8 depth) private view returns (Reveal memory drawn, uint256 agreeing) {
        uint256 sum;
        for (uint256 i = 0; i < commits.length; i++) {
            if (!commits[i].revealed) continue;
            Reveal memory candidate = reveals[commits[i].revealIndex];
            if (candidate.hash != hash || candidate.depth != depth) continue;
            sum += candidate.stakeDensity;
            if (_drawn("1", agreeing, candidate.stakeDensity, sum)) drawn = candidate;
            agreeing++;
        }
    }

    function _drawn(bytes1 draw, uint256 number, uint256 density, uint256 sum) private view returns (bool) {
        uint256 random = uint128(uint256(keccak256(abi.encodePacked(seed, draw, number))));
        return random * sum < density * 2 ** 128;
    }

    function _penalise(bytes32 hash, uint8 depth) private {
        uint256 unit = ROUND_LENGTH * 2 ** depth;
        bool punishDisagreement = block.prevrandao % 100 < penaltyRandomFactor;
        for (uint256 i = 0; i < commits.length; i++) {
            if (!commits[i].revealed) {
                Stakes.freezeDeposit(commits[i].owner, penaltyNonRevealed * unit);
            } else if (punishDisagreement) {
                Reveal storage revealed = reveals[commits[i].revealIndex];
                if (revealed.hash != hash || revealed.depth != depth) {
                    Stakes.freezeDeposit(commits[i].owner, penaltyDisagreement * unit);
                }
            }
        }
    }

    /// @param number of the proof in the error when the chunk lies outside the winner's neighbourhood
    function _checkElement(ChunkInclusionProof calldata proof, uint256 element, uint8 number) private {
        if (!inProximity(proof.proveSegment, revealAnchor, winner.depth)) revert OutOfDepthClaim(number);
        _checkInclusion(proof, 2 * element);
        _checkStamp(proof.postageProof, proof.proveSegment);
        if (proof.socProof.length > 0) _checkOwner(proof.socProof[0], proof.proveSegment);
    }

    function _checkInclusion(ChunkInclusionProof calldata proof, uint256 indexInRC) private {
        uint256 index = uint256(seed) % SEGMENTS_OF_CHUNK;
        bytes32 transformed = ChunkProof.transformedAddress(
            proof.proofSegments3, proof.proveSegment2, index, proof.chunkSpan, revealAnchor
        );
        emit transformedChunkAddressFromInclusionProof(indexInRC, transformed);

        bytes32 commitment =
            ChunkProof.chunkAddress(proof.proofSegments, proof.proveSegment, indexInRC, COMMITMENT_SPAN);
        if (commitment != winner.hash) revert InclusionProofFailed(1, transformed);
        // The sister leaf is payload: it must be the same in both trees, or two segments would be free to differ.
        if (proof.proofSegments2[0] != proof.proofSegments3[0]) revert InclusionProofFailed(2, transformed);

        bool single = proof.socProof.length > 0;
        bytes32 plain =
            ChunkProof.chunkAddress(proof.proofSegments2, proof.proveSegment2, index, proof.chunkSpan);
        if (plain != (single ? proof.socProof[0].chunkAddr : proof.proveSegment)) {
            revert InclusionProofFailed(3, transformed);
        }
        if (single) transformed = keccak256(abi.encode(proof.proveSegment, transformed));
        if (proof.proofSegments[0] != transformed) revert InclusionProofFailed(4, transformed);
    }

    function _checkStamp(PostageProof calldata proof, bytes32 chunk) private view {
        bytes32 id = proof.postageId;
        (address owner, uint8 depth, uint8 bucketDepth,,,) = PostageContract.batches(id);
        if (owner == address(0)) revert BatchDoesNotExist(id);
        if (uint32(proof.index) >= 2 ** (depth - bucketDepth)) revert IndexOutsideSet(id);
        if (proof.index >> 32 != uint256(chunk) >> (256 - bucketDepth)) revert BucketDiffers(id);
        bytes32 message = keccak256(abi.encodePacked(chunk, id, proof.index, proof.timeStamp));
        if (!_signedBy(owner, message, proof.signature)) revert SigRecoveryFailed(id);
    }

    function _checkOwner(SOCProof calldata proof, bytes32 chunk) private pure {
        bytes32 message = keccak256(abi.encodePacked(proof.identifier, proof.chunkAddr));
        if (!_signedBy(proof.signer, message, proof.signature)) revert SocVerificationFailed(proof.chunkAddr);
        if (keccak256(abi.encodePacked(proof.identifier, proof.signer)) != chunk) {
            revert SocCalcNotMatching(proof.chunkAddr);
        }
    }

    function _signedBy(address signer, bytes32 message, bytes calldata signature) private pure returns (bool) {
        if (signature.length != 65) revert InvalidSignatureLength();
        (bytes32 r, bytes32 s, uint8 v) = Signatures.split(signature);
        address recovered = ecrecover(Signatures.prefixed(message), v, r, s);
        return recovered != address(0) && recovered == signer;
    }

    /// The sample is sorted by transformed address and, as a whole, small enough for a full reserve.
    function _checkOrder(
        ChunkInclusionProof calldata lower,
        ChunkInclusionProof calldata upper,
        ChunkInclusionProof calldata last
    ) private view {
        if (lower.proofSegments[0] >= upper.proofSegments[0]) revert RandomElementCheckFailed();
        bytes32 greatest = last.proofSegments[0];
        if (upper.proofSegments[0] >= greatest) revert LastElementCheckFailed();
        if (uint256(greatest) >= sampleMaxValue) revert ReserveCheckFailed(greatest);
    }

    // ── Administration ───────────────────────────────────────────────────────────────────────────────────

    /// @param _penaltyRandomFactor percentage of rounds in which disagreement is punished
    function setFreezingParams(
        uint8 _penaltyMultiplierDisagreement,
        uint8 _penaltyMultiplierNonRevealed,
        uint8 _penaltyRandomFactor
    ) external onlyAdmin {
        penaltyDisagreement = _penaltyMultiplierDisagreement;
        penaltyNonRevealed = _penaltyMultiplierNonRevealed;
        penaltyRandomFactor = _penaltyRandomFactor;
    }

    function setSampleMaxValue(uint256 _sampleMaxValue) external onlyAdmin {
        sampleMaxValue = _sampleMaxValue;
    }

    function pause() external onlyPauser {
        _pause();
    }

    function unPause() external onlyPauser {
        _unpause();
    }

    // ── Views ────────────────────────────────────────────────────────────────────────────────────────────

    function isParticipatingInUpcomingRound(address _owner, uint8 _depth) external view returns (bool) {
        uint8 depthResponsibility = _depth - Stakes.heightOfAddress(_owner);
        if (currentPhaseReveal()) revert WrongPhase();
        _requireSettledStake(_owner);
        return inProximity(Stakes.overlayOfAddress(_owner), currentRoundAnchor(), depthResponsibility);
    }

    function isWinner(bytes32 _overlay) external view returns (bool) {
        _requireClaimable();
        (bytes32 hash, uint8 depth) = _drawTruth();
        (Reveal memory drawn,) = _drawWinner(hash, depth);
        return drawn.overlay == _overlay;
    }

    /// The anchor of this round's samples; in the claim phase already that of the next round.
    function currentRoundAnchor() public view returns (bytes32 returnVal) {
        if (currentPhaseClaim()) return nextSeed();
        if (currentPhaseReveal() && currentRevealRound == currentRound()) revert FirstRevealDone();
        return currentSeed();
    }

    function currentSeed() public view returns (bytes32) {
        return _seedAt(currentRound());
    }

    function nextSeed() public view returns (bytes32) {
        return _seedAt(currentRound() + 1);
    }

    /// Rounds without a reveal after the last one still get different anchors.
    function _seedAt(uint64 round) private view returns (bytes32) {
        if (round <= currentRevealRound + 1) return seed;
        return keccak256(abi.encode(seed, uint256(round - currentRevealRound - 1)));
    }

    function currentRound() public view returns (uint64) {
        return uint64(block.number) / ROUND_LENGTH;
    }

    function currentPhaseCommit() public view returns (bool) {
        return block.number % ROUND_LENGTH < PHASE_LENGTH;
    }

    function currentPhaseReveal() public view returns (bool) {
        return !currentPhaseCommit() && !currentPhaseClaim();
    }

    function currentPhaseClaim() public view returns (bool) {
        return block.number % ROUND_LENGTH >= 2 * PHASE_LENGTH;
    }

    /// The depth may fall by one below the last winner's, and by one more for each round without a claim.
    function currentMinimumDepth() public view returns (uint8) {
        uint64 difference = currentCommitRound - currentClaimRound;
        uint8 skipped = uint8(difference < 254 ? difference : 254) + 1;
        return skipped >= winner.depth ? 0 : winner.depth - skipped;
    }

    function currentCommits(uint256 index)
        external
        view
        returns (
            bytes32 overlay,
            address owner,
            bool revealed,
            uint8 height,
            uint256 stake,
            bytes32 obfuscatedHash,
            uint256 revealIndex
        )
    {
        Commit memory c = commits[index];
        return (c.overlay, c.owner, c.revealed, c.height, c.stake, c.obfuscatedHash, c.revealIndex);
    }

    function currentReveals(uint256 index)
        external
        view
        returns (
            bytes32 overlay,
            address owner,
            uint8 depth,
            uint256 stake,
            uint256 stakeDensity,
            bytes32 hash
        )
    {
        Reveal memory r = reveals[index];
        return (r.overlay, r.owner, r.depth, r.stake, r.stakeDensity, r.hash);
    }

    function currentRoundReveals() external view returns (Reveal[] memory) {
        if (!currentPhaseClaim()) revert NotClaimPhase();
        if (currentRound() != currentRevealRound) revert NoReveals();
        return reveals;
    }

    function wrapCommit(bytes32 _overlay, uint8 _depth, bytes32 _hash, bytes32 revealNonce)
        public
        pure
        returns (bytes32)
    {
        return keccak256(abi.encodePacked(_overlay, _depth, _hash, revealNonce));
    }

    /// Do A and B share their first `minimum` bits?
    function inProximity(bytes32 A, bytes32 B, uint8 minimum) public pure returns (bool) {
        return minimum == 0 || uint256(A ^ B) < 2 ** (256 - uint256(minimum));
    }
}
