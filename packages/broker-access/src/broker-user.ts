import type { ServiceContract } from '@runledger/contracts/service-contract';
import { AUDIT_STREAMS } from '@runledger/contracts/audit-actions';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import {
  BROKER_HEALTH,
  BROKER_STATES,
  REMOVE_BROKER,
  API_PREFIX,
} from '@runledger/event-log/connect/broker-config';
import { permissionsOf, type Permissions } from './service-permissions.ts';
import { streamInfo, directGetLast, streamMessageGet, directGet } from './api-subjects.ts';

export interface BrokerUser {
  /** The name of the account too. The broker shows it to people. */
  readonly name: string;
  readonly permissions: Permissions;
}

/** The user of a service other than an executor. */
export const serviceUser = (contract: ServiceContract): BrokerUser => ({
  name: contract.service,
  permissions: permissionsOf(contract),
});

/** The user of all executors of a name, one after the other. @throws TypeError when the name is not a subject token */
export const executorUser = (contract: ServiceContract, name: string): BrokerUser => ({
  name: `executor-${name}`,
  permissions: permissionsOf(contract, name),
});

export const debuggerUser = (): BrokerUser => ({ name: 'debugger', permissions: debuggerPermissions() });

/** Provisions the log. It is the only user in the account of the log. */
export const OPERATOR = 'operator';
export const operatorUser = (): BrokerUser => ({ name: OPERATOR, permissions: operatorPermissions() });

/** Manages the brokers of a cluster. It is the only user in their system account, and has nothing of the log. */
export const SYSTEM = 'system';
export const systemUser = (): BrokerUser => ({ name: SYSTEM, permissions: systemPermissions() });

/** These hold secrets, files and logs of the tenants' customers, or who did what from which address. */
const CLOSED: ReadonlySet<string> = new Set([
  'KV_ACCOUNTS',
  'KV_KEYS',
  'KV_WEBHOOK_SECRETS',
  'KV_RATES',
  'KV_FILES',
  'KV_SCHEDULES',
  'OBJ_ARCHIVE',
  'OBJ_MODELS',
  'OBJ_OUTPUTS',
  'LOGS',
  ...AUDIT_STREAMS,
]);

/** Reads the streams that hold no secrets, receives new facts as they are stored, and changes nothing. */
const debuggerPermissions = (): Permissions => ({
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

/** Sees which brokers there are, what they hold and whether they are well, and removes one from the cluster. It reads and writes no message. */
const systemPermissions = (): Permissions => ({
  publish: { allow: [REMOVE_BROKER, BROKER_HEALTH, BROKER_STATES] },
  subscribe: { allow: [] },
  responses: false,
});

/** Everything in the account of the log. */
const operatorPermissions = (): Permissions => ({
  publish: { allow: ['>'] },
  subscribe: { allow: ['>'] },
  responses: true,
});
