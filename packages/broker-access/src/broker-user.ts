import type { ServiceContract } from '@runledger/contracts/service-contract';
import { debuggerPermissions, operatorPermissions, systemPermissions } from './human-permissions.ts';
import { permissionsOf, type Permissions } from './service-permissions.ts';

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
