import {
  debuggerUser,
  executorUser,
  operatorUser,
  serviceUser,
  type BrokerUser,
} from '@runledger/broker-access/broker-user';
import { contract as gateway } from '@runledger/gateway/contract';
import { contract as gpuExecutor } from '@runledger/gpu-executor/contract';
import { contract as notifier } from '@runledger/notifier/contract';
import { contract as scheduler } from '@runledger/scheduler/contract';

/**
 * All users of a broker with executors of these names.
 * @throws TypeError for a name that is not a valid token of a subject
 */
export const brokerUsers = (executors: readonly string[]): BrokerUser[] => [
  ...[gateway, scheduler, notifier].map(serviceUser),
  ...executors.map((name) => executorUser(gpuExecutor, name)),
  debuggerUser(),
  operatorUser(),
];
