import type { RunViews } from './run-views.ts';

/** All but what not every store has. */
const METHODS = [
  'find',
  'load',
  'save',
  'listRuns',
  'countRuns',
  'runActivity',
  'listWebhooks',
  'listOldest',
  'listUnsettled',
  'listWithFiles',
  'listAll',
  'listToErase',
  'listErased',
  'countQueued',
  'sumOutputBytes',
  'sumBlobBytes',
  'referredBlobs',
  'findLiveRun',
  'remove',
  'position',
  'advance',
  'resetTo',
] as const satisfies (keyof RunViews)[];

export type StoredSet = Pick<RunViews, (typeof METHODS)[number]>;
type Calls = Readonly<Record<(typeof METHODS)[number], (...args: never[]) => Promise<unknown>>>;

/** Each call goes to the set that is the live one then. */
export const storeOf = (
  withLive: <Result>(use: (live: StoredSet) => Promise<Result>) => Promise<Result>,
): StoredSet =>
  Object.fromEntries(
    METHODS.map((name) => [
      name,
      (...args: never[]) => withLive((live) => (live as unknown as Calls)[name](...args)),
    ]),
  ) as unknown as StoredSet;
