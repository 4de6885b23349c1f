import { describe, expect, it } from 'vitest';
import { assigned, failed, started } from '@runledger/testing/run-events';
import { fullStores } from '../../src/checks/full-stores.ts';
import { aSoak, queuedRun, RUN, second } from '../fixtures/a-soak.ts';

const ended = (message: string) => {
  const end = failed(RUN, 'storage_full');
  return [
    queuedRun(),
    assigned(RUN),
    started(RUN),
    { ...end, data: { ...end.data, error: { ...end.data.error, message } } },
  ];
};
const limits = [
  { store: 'OBJ_OUTPUTS', kind: 'full', from: second(2), to: second(8), lost: 0, hadEffect: true },
] as const;
const NAMED = 'The store OUTPUTS is full: raise outputsMaxBytes';

describe('a run that ends as storage_full', () => {
  it('is right while a store is full', () => {
    expect(fullStores(aSoak({ events: ended(NAMED), limits }))).toEqual([]);
  });

  it('is a violation while none is full', () => {
    expect(fullStores(aSoak({ events: ended(NAMED) }))).toMatchObject([{ run: RUN.run_id }]);
  });

  it('needs no full store for an organisation that has used up its own part', () => {
    const events = ended('an operator has to raise RUNLEDGER_QUOTA_OUTPUT_BYTES of the gateway');
    expect(fullStores(aSoak({ events }))).toHaveLength(1);
    expect(fullStores(aSoak({ events, glutton_id: RUN.org_id }))).toEqual([]);
  });

  it('is a violation when the reason names no store', () => {
    expect(fullStores(aSoak({ events: ended('It failed.'), limits }))).toMatchObject([
      { message: 'Its end does not say what is full: It failed.' },
    ]);
  });
});
