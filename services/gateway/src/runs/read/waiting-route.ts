import { RunWaiting } from '@runledger/contracts/http/runs/waiting';
import { waitingResponse } from './core/waiting-response.ts';
import type { ReadWaitingRun } from './waiting-run.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { Refused } from '../../http/refusal.ts';
import { notFoundRun, RunPath, runKeyOf } from '../current/run-path.ts';

const waitingOperation = operation({
  id: 'getRunWaiting',
  method: 'GET',
  path: '/run/{run_id}/waiting',
  tag: 'Runs',
  summary: 'Read why a run waits',
  description:
    'What the run waits for, how many runs are ahead of it, and how many executors can run it, from the leading scheduler.',
  scope: 'runs:read',
  request: { path: RunPath },
  response: { status: 200, description: 'Why the run waits, or that it does not wait.', body: RunWaiting },
  refusals: [404],
});

export interface WaitingRoute {
  readonly waiting: ReadWaitingRun;
  readonly now: () => Date;
}

export const waitingRoute = ({ waiting, now }: WaitingRoute): Route =>
  route(waitingOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const found = await waiting(key);
    switch (found.kind) {
      case 'waits': {
        const { run, wait } = found;
        return {
          run_id: key.run_id,
          status: run.status,
          waiting: waitingResponse(run, wait, now()),
        };
      }
      case 'does_not_wait':
        return { run_id: key.run_id, status: found.run.status, waiting: null };
      case 'not_read_yet':
        throw new Refused({
          code: 'scheduler_behind',
          why: 'The run is queued, and the scheduler has not read it yet. Try again',
        });
      case 'none':
      case 'deleted':
      case 'views_unavailable':
      case 'unreadable':
        throw notFoundRun(found);
    }
  });
