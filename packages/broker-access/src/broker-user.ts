import type { ServiceContract } from '@runledger/contracts/access/service-contract';
import { debuggerPermissions, operatorPermissions } from './human-permissions.ts';
import { permissionsOf, type Permissions } from './service-permissions.ts';

export interface BrokerUser {
  /** Of the account too; the broker shows it to people. */
  readonly name: string;
  readonly permissions: Permissions;
}

/** Of every service but the executors. */
export const serviceUser = (contract: ServiceContract): BrokerUser => ({
  name: contract.service,
  permissions: permissionsOf(contract),
});

/** Of all executors of a name, one after the other. @throws TypeError when the name cannot stand in a subject */
export const executorUser = (contract: ServiceContract, name: string): BrokerUser => ({
  name: `executor-${name}`,
  permissions: permissionsOf(contract, name),
});

export const debuggerUser = (): BrokerUser => ({ name: 'debugger', permissions: debuggerPermissions() });

/** Who provisions, and whoever holds its key: the one user in the log's own account. */
export const OPERATOR = 'operator';
export const operatorUser = (): BrokerUser => ({ name: OPERATOR, permissions: operatorPermissions() });
