import { describe, expect, it } from 'vitest';
import { redeliverPages } from '../src/webhooks/redeliver-pages.ts';

const PAGES: Readonly<Record<string, { matched: number; requested: number; next_cursor: string | null }>> = {
  first: { matched: 1_000, requested: 999, next_cursor: 'second' },
  second: { matched: 0, requested: 0, next_cursor: 'third' },
  third: { matched: 2, requested: 2, next_cursor: null },
};

const send = async (cursor: string | undefined) => {
  const page = PAGES[cursor ?? 'first'];
  if (!page) throw new Error(`no page ${cursor}`);
  return Promise.resolve(page);
};

describe('a redelivery of many', () => {
  it('goes on to the last page, over an empty one, and tells what is done', async () => {
    const told: number[] = [];
    expect(await redeliverPages(send, 10, ({ requested }) => told.push(requested))).toEqual({
      matched: 1_002,
      requested: 1_001,
      next: null,
    });
    expect(told).toEqual([999, 999, 1_001]);
  });

  it('stops after as many pages as it may, and says where to go on', async () => {
    expect(await redeliverPages(send, 2)).toEqual({ matched: 1_000, requested: 999, next: 'third' });
  });
});
