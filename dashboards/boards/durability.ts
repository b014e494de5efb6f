/** Does what was acknowledged stay there, and do clients get it. */
import { type Board, PASSED_FAILED } from '../board.ts';
import { increase, last, ofNodes, ofRun, share, sum } from '../queries.ts';

const overRange = (selector: string, ...by: readonly string[]) => sum(increase(selector, '$__range'), ...by);

export const durability: Board = {
  uid: 'svcnet-durability',
  title: 'svcnet 7: Durability',
  about: 'The ledger of acknowledged chunks, and success over the chosen time, such as 24 hours.',
  rows: [
    {
      title: 'Over the chosen time',
      panels: [
        {
          kind: 'stat',
          title: 'Success by operation',
          about: 'Share of the operations that have succeeded within the time that the board shows.',
          unit: 'ratio',
          query: {
            expr: share(
              overRange(ofRun('op_total', 'result="ok"'), 'op'),
              overRange(ofRun('op_total'), 'op'),
            ),
            legend: '{{op}}',
          },
        },
        {
          kind: 'stat',
          title: 'Chunks found',
          about: 'Share of the chunks that nodes asked the network for and were given.',
          unit: 'ratio',
          query: {
            expr: share(
              overRange(ofNodes('retrieval_request_success_count')),
              overRange(ofNodes('retrieval_request_count')),
            ),
            legend: 'found',
          },
        },
        {
          kind: 'stat',
          title: 'Results of scenarios',
          about: 'Scenarios that have ended.',
          unit: 'count',
          words: PASSED_FAILED,
          query: { expr: `min by (name) (${last(ofRun('scenario_result'))})`, legend: '{{name}}' },
        },
      ],
    },
    {
      title: 'Ledger',
      panels: [
        {
          kind: 'series',
          title: 'Acknowledged chunks',
          about: 'Distinct chunks whose upload was acknowledged: these must be kept.',
          unit: 'count',
          queries: [{ expr: sum(ofRun('ledger_acked_total'), 'run'), legend: '{{run}}' }],
        },
        {
          kind: 'series',
          title: 'Missing chunks',
          about: 'Acknowledged chunks that the last verification did not find. Anything but zero is a loss.',
          unit: 'count',
          queries: [{ expr: sum(ofRun('ledger_missing_total'), 'run'), legend: '{{run}}' }],
        },
        {
          kind: 'stat',
          title: 'Retrievable',
          about: 'Share of the acknowledged chunks that the last verification found.',
          unit: 'ratio',
          query: {
            expr: `1 - ${share(sum(ofRun('ledger_missing_total')), sum(ofRun('ledger_acked_total')))}`,
            legend: 'retrievable',
          },
        },
      ],
    },
    {
      title: 'Over time',
      panels: [
        {
          kind: 'series',
          title: 'Success ratio by operation',
          about: 'Share of the operations that have succeeded.',
          unit: 'ratio',
          width: 12,
          queries: [
            {
              expr: share(
                sum(increase(ofRun('op_total', 'result="ok"')), 'op'),
                sum(increase(ofRun('op_total')), 'op'),
              ),
              legend: '{{op}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Chunks that were not found',
          about: 'Requests for a chunk that no peer could answer, by the node that asked.',
          unit: 'count',
          width: 12,
          queries: [
            { expr: sum(increase(ofNodes('retrieval_request_failure_count')), 'node'), legend: '{{node}}' },
          ],
        },
      ],
    },
  ],
};
