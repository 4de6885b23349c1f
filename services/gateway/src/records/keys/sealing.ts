import {
  ResealRequest,
  SealedValuesPage,
  SealedValuesQuery,
  type SealedCounts,
  type UnreadableValue,
} from '@runledger/contracts/http/sealed-values';
import { idOfKey, sealedOrganisationSecrets } from '../catalogue/secret-records.ts';
import { type SealedRecords, sealedSigningSecrets } from '@runledger/webhooks/signing-secrets';
import { secretBox } from '@runledger/webhooks/secret-box';
import { operation, route, type Route } from '../../door/operation.ts';
import { cursorAt, checkCursor, decodeCursor } from '../../door/pagination.ts';
import { Refused } from '../../door/refusal.ts';
import type { Kit } from '../../kit.ts';

const shared = { tag: 'Sealed values', scope: 'operator' } as const;

const checkOperation = operation({
  ...shared,
  id: 'checkSealedValues',
  method: 'GET',
  path: '/sealed-values',
  summary: 'Check the sealed values',
  description:
    'Reads and opens stored values that are sealed, and counts those that the sealing key sealed and those that another key did. No value is shown. When all pages together have `old` and `unreadable` 0, no other key is needed any more, except for the secret inputs of runs that were queued before, which are never written again.',
  request: { query: SealedValuesQuery },
  response: { status: 200, description: 'Up to 100 values.', body: SealedValuesPage },
});

const resealOperation = operation({
  ...shared,
  id: 'resealValues',
  method: 'POST',
  path: '/sealed-values/reseal',
  summary: 'Seal values again',
  description:
    'Seals values that another key sealed with the sealing key, each at once: what a client changes at the same time stays as the client changed it. Follow `next_cursor` until it is null. A request can be repeated, and after an interruption the first one finds what is left.',
  audit: {
    action: 'sealed_values.resealed',
    installation: true,
    details: ({ body: { sealing_key } }) => ({ sealing_key }),
  },
  request: { body: ResealRequest },
  response: { status: 200, description: 'Up to 100 values.', body: SealedValuesPage },
  refusals: [409],
});

/** What operators do with the keys of RUNLEDGER_SECRET_KEYS, which seal values of all organisations. */
export const sealingRoutes = ({ config, log, now }: Kit): Route[] => {
  const box = secretBox(config.RUNLEDGER_SECRET_KEYS);
  const { keyIds } = box;
  const kinds = [sealedSigningSecrets(log, box, now), sealedOrganisationSecrets(log, box)];
  const [sealing_key = '', ...other_keys] = keyIds;
  const page = async (
    cursor: string | null | undefined,
    action: 'inspect' | 'reseal',
  ): Promise<SealedValuesPage> => {
    const { behind, ...found } = await nextSealedValues(kinds, positionIn(cursor), action);
    return {
      sealing_key,
      other_keys,
      ...found,
      next_cursor: cursorAt(behind && `${behind.kind} ${behind.revision}`),
    };
  };
  return [
    route(checkOperation, ({ query: { cursor } }) => page(cursor, 'inspect'), checkCursor(isPosition)),
    route(
      resealOperation,
      ({ body }) => {
        if (body.sealing_key !== sealing_key)
          throw new Refused({
            code: 'sealing_key_differs',
            why: `This gateway seals with the key ${sealing_key}, not with ${body.sealing_key}. Put the same key first in RUNLEDGER_SECRET_KEYS of all gateways and notifiers, restart them, and begin again`,
          });
        return page(body.cursor, 'reseal');
      },
      checkCursor(isPosition, 'body'),
    ),
  ];
};

/** Clients have cursors that begin so. */
const POSITION = /^([01]) (\d{1,15})$/;
const isPosition = (text: string): boolean => POSITION.test(text);
const positionIn = (cursor: string | null | undefined): Position => {
  const [, kind = 0, revision = 0] = POSITION.exec(decodeCursor(cursor ?? '')) ?? [];
  return { kind: Number(kind), revision: Number(revision) };
};

/** In the kinds of records, one after the other. */
interface Position {
  readonly kind: number;
  readonly revision: number;
}

interface SealedPage {
  readonly counts: SealedCounts[];
  readonly unreadable: UnreadableValue[];
  /** Where the next page begins; undefined at the end. */
  readonly behind: Position | undefined;
}

/** Bounds the time of a request: each value is read, and written when it is sealed again. */
const PAGE_SIZE = 100;

/**
 * Goes through the next sealed values. A value that changes meanwhile comes again later, so nothing is missed; nothing is remembered, so
 * a walk can be repeated or continued at another gateway. @throws {LogUnavailable}
 */
const nextSealedValues = async (
  kinds: readonly SealedRecords[],
  from: Position,
  action: 'inspect' | 'reseal',
): Promise<SealedPage> => {
  const counts = kinds.map(({ kind }) => ({ kind, current: 0, resealed: 0, old: 0, unreadable: 0 }));
  const unreadable: UnreadableValue[] = [];
  let left = PAGE_SIZE;
  for (const [index, records] of kinds.entries()) {
    if (index < from.kind) continue;
    const { kind } = records;
    const count = counts[index];
    let behind = index === from.kind ? from.revision : 0;
    for (; left > 0; left -= 1) {
      const found = await records.next(behind);
      if (found === undefined) break;
      const state = await records[action](found.key);
      behind = found.revision;
      if (state.kind === 'gone' || count === undefined) continue;
      count[state.kind] += 1;
      const id = kind === 'organisation_secrets' ? idOfKey(found.key) : found.key;
      if (state.kind === 'unreadable') unreadable.push({ kind, id, why: state.why });
    }
    if (left === 0) return { counts, unreadable, behind: { kind: index, revision: behind } };
  }
  return { counts, unreadable, behind: undefined };
};
