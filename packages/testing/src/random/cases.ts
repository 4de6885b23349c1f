import { environment } from '../servers/environment.ts';

/** `npm run test:nightly` sets it. The gate tries what fewer cases prove as well. */
export const IS_NIGHTLY = environment['RUNLEDGER_TEST_NIGHTLY'] === '1';

/** The random cases of a property in the gate; at night there are five times as many. */
export const casesOf = (inGate: number): number => (IS_NIGHTLY ? 5 * inGate : inGate);

/** Those of the gate, at night all. */
export const someOf = <Of>(all: readonly Of[], isInGate: (one: Of, index: number) => boolean): Of[] =>
  all.filter((one, index) => IS_NIGHTLY || isInGate(one, index));
