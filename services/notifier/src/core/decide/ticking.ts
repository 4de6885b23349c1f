import { CHECK_EVERY_MS, type NotifierState } from '../state/state.ts';
import { postponeOlder } from './dispatching.ts';
import { advance } from './outboxes.ts';
import { storePositions } from './partitions.ts';
import { schedule } from './queueing.ts';

/** A delivery that waits longer is deferred, so that a restart need not begin far back. */
const LONGEST_WAIT_MS = 5_000;
/** In checks. */
const STORE_POSITIONS_EVERY = 2;

/** Time has passed. */
export const tick = (state: NotifierState): void => {
  const { at } = state.moment;
  state.breakers.tick(at);
  for (let next = state.alarms.peek(); next && next.at <= at; next = state.alarms.peek()) {
    state.alarms.pop();
    const outbox = state.outboxes.get(next.run);
    if (outbox?.alarmAt !== next.at) continue;
    outbox.alarmAt = Infinity;
    advance(state, outbox);
  }
  if (at >= state.nextCheck) checkWaiting(state, at);
};

const checkWaiting = (state: NotifierState, at: number): void => {
  state.checks += 1;
  state.nextCheck = Math.max(state.nextCheck + CHECK_EVERY_MS, at);
  state.limits.findSlow(at);
  for (const queue of state.withWaiting) postponeOlder(state, queue, at - LONGEST_WAIT_MS);
  for (const queue of state.loading.tick()) schedule(state, queue);
  if (state.checks % STORE_POSITIONS_EVERY === 0) storePositions(state);
};
