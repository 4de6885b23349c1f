import type { Effect, NotifierInput } from './inputs-and-effects.ts';
import { type Moment, type NotifierState, CHECK_EVERY_MS } from './state.ts';
import { attemptConcluded, attemptFinished } from './attempts.ts';
import {
  dispatch,
  followBreakers,
  deferralFinished,
  deferredFound,
  deferredLoaded,
  openingDue,
  openingFound,
  postponeOlder,
} from './dispatching.ts';
import { addFinal, advance } from './outboxes.ts';
import {
  closePartition,
  gainPartition,
  losePartition,
  positionStored,
  shortenLog,
  readUpTo,
  runChanged,
  runEnded,
  storePositions,
} from './partitions.ts';
import { checkedUpTo, expiredFound, roundBegun, roundEnded, unsettledFound } from './reconciling.ts';
import { schedule } from './queueing.ts';

/**
 * All that a notifier decides: what happened goes in, what is to be done comes out, the same for the same inputs. Between two
 * inputs nothing waits that a free permit could take.
 */
export const decide = (state: NotifierState, input: NotifierInput, moment: Moment): readonly Effect[] => {
  state.moment = moment;
  state.effects = [];
  apply(state, input);
  // A stored opening that is found again needs not be stored again.
  followBreakers(state, { store: input.type !== 'opening_found' });
  dispatch(state);
  return state.effects;
};

const apply = (state: NotifierState, input: NotifierInput): void => {
  switch (input.type) {
    case 'log_age_read':
      state.logAgeMs = input.logAgeMs;
      return;
    case 'partition_gained':
      return gainPartition(state, input.start);
    case 'partition_closing':
      return closePartition(state, input.partition);
    case 'partition_lost':
      return losePartition(state, input.partition);
    case 'position_stored':
      return positionStored(state, input.partition, input.position);
    case 'run_ended':
      return runEnded(state, input, { round: 1 });
    case 'redelivery_requested':
      return runEnded(state, input, { round: input.round });
    case 'run_changed':
      return runChanged(state, input, 'runs');
    case 'progress_reported':
      return runChanged(state, input, 'activity');
    case 'read_up_to':
      return readUpTo(state, input);
    case 'log_shortened':
      return shortenLog(state, input.stream, input.lastSequence);
    case 'delivery_due':
      return addFinal(state, input.delivery);
    case 'opening_found':
      return openingFound(state, input);
    case 'opening_due':
      return openingDue(state, input);
    case 'deferred_found':
      return deferredFound(state, input.delivery);
    case 'deferred_loaded':
      return deferredLoaded(state, input);
    case 'expired_found':
      return expiredFound(state, input.delivery);
    case 'attempt_finished':
      return attemptFinished(state, input.attempt, input.report);
    case 'attempt_concluded':
      return attemptConcluded(state, input.attempt, input.outcome);
    case 'deferral_finished':
      return deferralFinished(state, input.run, input.outcome);
    case 'round_begun':
      return roundBegun(state, input);
    case 'unsettled_found':
      return unsettledFound(state, input);
    case 'checked_up_to':
      return checkedUpTo(state, input);
    case 'round_ended':
      return roundEnded(state, input);
    case 'tick':
      return tick(state);
  }
};

/** A delivery that waits longer is deferred, so that a restart need not begin far back. */
const LONGEST_WAIT_MS = 5_000;
/** In checks. */
const STORE_POSITIONS_EVERY = 2;

/** Time has passed. */
const tick = (state: NotifierState): void => {
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
