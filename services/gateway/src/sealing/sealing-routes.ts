import { ResealRequest, SealedValuesPage, SealedValuesQuery } from '@runledger/contracts/http/sealed-values';
import type { SealedRecords } from '@runledger/webhooks/signing/sealed-records';
import type { SecretBox } from '@runledger/webhooks/signing/secret-box';
import { operation, route, type Route } from '../http/operation.ts';
import { cursorAt, cursorProblems, decodeCursor } from '../http/pagination.ts';
import { Refused } from '../http/refusal.ts';
import { own } from '../validation/node.ts';
import { nextSealedValues, type SealedPosition } from './sealed-values.ts';

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
  refusals: [],
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

export interface SealingRoutes {
  readonly kinds: readonly SealedRecords[];
  readonly box: Pick<SecretBox, 'keyIds'>;
}

/** What operators do with the keys of RUNLEDGER_SECRET_KEYS, which seal values of all organisations. */
export const sealingRoutes = ({ kinds, box: { keyIds } }: SealingRoutes): Route[] => {
  const [sealing_key = '', ...other_keys] = keyIds;
  const page = async (
    cursor: string | null | undefined,
    action: 'inspect' | 'reseal',
  ): Promise<SealedValuesPage> => {
    const { next, ...found } = await nextSealedValues(kinds, positionIn(cursor), action);
    return { sealing_key, other_keys, ...found, next_cursor: cursorAt(next && textOf(next)) };
  };
  return [
    route(
      checkOperation,
      ({ query: { cursor } }) => page(cursor, 'inspect'),
      ({ query }) => cursorProblems(own(query, 'cursor'), 'query', isPosition),
    ),
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
      ({ body }) => cursorProblems(own(body, 'cursor'), 'body', isPosition),
    ),
  ];
};

const textOf = ({ kind, behind }: SealedPosition): string => `${kind} ${behind}`;

const POSITION = /^(\d{1,2}) (\d{1,15})$/;
const isPosition = (text: string): boolean => POSITION.test(text);

const positionIn = (cursor: string | null | undefined): SealedPosition => {
  const [, kind = 0, behind = 0] = POSITION.exec(decodeCursor(cursor ?? '')) ?? [];
  return { kind: Number(kind), behind: Number(behind) };
};
