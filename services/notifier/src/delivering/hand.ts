import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Item, Receiver } from '../core/receivers/receiver.ts';
import type { FinalDelivery } from './final-delivery.ts';

/** Where an intermediate notification comes from: sequences that are settled once it is told. */
export interface Origins {
  readonly runs: number[];
  readonly activity: number[];
}

/** What is to be told of a run that goes on. */
export interface Untold extends Origins {
  /** Of RUNS: the run is told as it was then, or later. */
  atLeast: number;
}

/** What one run has to tell. */
export interface Hand {
  readonly key: RunKey;
  readonly receiver: Receiver;
  /** The first is at the dispatcher, or waits for an intermediate one that is in flight. */
  readonly finals: FinalDelivery[];
  untold: Untold | undefined;
  /** At the dispatcher, in flight, or being put off. */
  active: Item | undefined;
  /** Monotonic: not before. */
  nextFinal: number;
  nextIntermediate: number;
  timer: NodeJS.Timeout | undefined;
}

export const emptyHand = (key: RunKey, origin: string): Hand => ({
  key,
  receiver: { org_id: key.org_id, origin },
  finals: [],
  untold: undefined,
  active: undefined,
  nextFinal: -Infinity,
  nextIntermediate: -Infinity,
  timer: undefined,
});

/** Takes out what stands for the round, or an earlier one. */
export const takeUpTo = ({ finals }: Hand, round: number): FinalDelivery[] => {
  const taken = finals.filter((delivery) => delivery.round <= round);
  finals.splice(0, finals.length, ...finals.filter((delivery) => delivery.round > round));
  return taken;
};
