import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import { API_PREFIX } from '@runledger/event-log/connect/log-account';
import { streamInfo, directGetLast, streamMessageGet, directGet } from './api-subjects.ts';
import type { Permissions } from './service-permissions.ts';

/** Secrets, what belongs to the tenants' customers, and nothing to learn from. */
const CLOSED: ReadonlySet<string> = new Set(['KV_KEYS', 'KV_WEBHOOK_SECRETS', 'KV_RATES', 'OBJ_OUTPUTS']);

/** Looks, and changes nothing: messages of every stream that holds no secrets, and what is stored from now on. */
export const debuggerPermissions = (): Permissions => ({
  publish: {
    allow: [
      `${API_PREFIX}.INFO`,
      `${API_PREFIX}.STREAM.LIST`,
      `${API_PREFIX}.STREAM.NAMES`,
      `${API_PREFIX}.CONSUMER.LIST.RUNS`,
      `${API_PREFIX}.CONSUMER.INFO.RUNS.*`,
      ...ALL_STREAMS.filter((stream) => !CLOSED.has(stream)).flatMap((stream) => [
        streamInfo(stream),
        streamMessageGet(stream),
        ...(stream.startsWith('KV_') ? [] : [directGet(stream), directGetLast(stream, '>')]),
      ]),
    ].toSorted(),
  },
  subscribe: { allow: ['activity.>', 'fleet.>', 'runs.>'] },
  responses: false,
});

/** Everything, in the log's own account. */
export const operatorPermissions = (): Permissions => ({
  publish: { allow: ['>'] },
  subscribe: { allow: ['>'] },
  responses: true,
});
