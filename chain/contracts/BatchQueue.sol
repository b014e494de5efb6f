// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The batches in the order in which they expire: a binary min-heap of the distinct normalised balances,
/// each with the list of batches that share it. The next to expire is read in constant time; insertion and
/// removal cost at most the height of the heap, and a new batch usually has the highest balance: one step.
library BatchQueue {
    error ValueDoesNotExist();
    error ValueCannotBeZero();
    error ValueKeyPairExists();

    struct Queue {
        uint256[] heap;
        mapping(uint256 balance => uint256 oneBased) position;
        mapping(uint256 balance => bytes32[]) sharing;
        mapping(bytes32 batchId => uint256 oneBased) place;
    }

    function isEmpty(Queue storage queue) internal view returns (bool) {
        return queue.heap.length == 0;
    }

    /// The first of the batches with the lowest balance; the queue must not be empty.
    function first(Queue storage queue) internal view returns (bytes32) {
        return queue.sharing[queue.heap[0]][0];
    }

    function insert(Queue storage queue, bytes32 batchId, uint256 balance) internal {
        if (balance == 0) revert ValueCannotBeZero();
        if (queue.place[batchId] != 0) revert ValueKeyPairExists();

        bytes32[] storage sharing = queue.sharing[balance];
        sharing.push(batchId);
        queue.place[batchId] = sharing.length;
        if (sharing.length == 1) {
            queue.heap.push();
            _rise(queue, queue.heap.length - 1, balance);
        }
    }

    function remove(Queue storage queue, bytes32 batchId, uint256 balance) internal {
        bytes32[] storage sharing = queue.sharing[balance];
        uint256 place = queue.place[batchId];
        if (place == 0 || place > sharing.length || sharing[place - 1] != batchId) revert ValueDoesNotExist();

        bytes32 last = sharing[sharing.length - 1];
        sharing[place - 1] = last;
        queue.place[last] = place;
        sharing.pop();
        delete queue.place[batchId];
        if (sharing.length == 0) _removeBalance(queue, balance);
    }

    function _removeBalance(Queue storage queue, uint256 balance) private {
        uint256 hole = queue.position[balance] - 1;
        uint256 last = queue.heap[queue.heap.length - 1];
        queue.heap.pop();
        delete queue.position[balance];
        if (last == balance) return;

        if (hole > 0 && last < queue.heap[(hole - 1) / 2]) _rise(queue, hole, last);
        else _sink(queue, hole, last);
    }

    /// Moves greater ancestors down until `balance` fits at or above `index`.
    function _rise(Queue storage queue, uint256 index, uint256 balance) private {
        while (index > 0) {
            uint256 parent = (index - 1) / 2;
            uint256 above = queue.heap[parent];
            if (above < balance) break;
            _put(queue, index, above);
            index = parent;
        }
        _put(queue, index, balance);
    }

    /// Moves smaller descendants up until `balance` fits at or below `index`.
    function _sink(Queue storage queue, uint256 index, uint256 balance) private {
        uint256 length = queue.heap.length;
        while (2 * index + 1 < length) {
            uint256 child = 2 * index + 1;
            uint256 below = queue.heap[child];
            if (child + 1 < length && queue.heap[child + 1] < below) {
                child += 1;
                below = queue.heap[child];
            }
            if (balance < below) break;
            _put(queue, index, below);
            index = child;
        }
        _put(queue, index, balance);
    }

    function _put(Queue storage queue, uint256 index, uint256 balance) private {
        queue.heap[index] = balance;
        queue.position[balance] = index + 1;
    }
}
