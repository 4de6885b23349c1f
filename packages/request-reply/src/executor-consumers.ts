import {
  executorConsumer,
  ExecutorConsumerRequest,
  ExecutorConsumerResponse,
  executorConsumerSubject,
} from '@runledger/contracts/requests/executors';
import { executorId, executorName, type ExecutorId } from '@runledger/contracts/ids';
import { executorFilter } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createOwnedConsumer } from '@runledger/event-log/follow/open-consumer';
import { parserOf, type Endpoint, respond, sendRequest } from './endpoint.ts';

const parseRequest = parserOf(ExecutorConsumerRequest);
const parseResponse = parserOf(ExecutorConsumerResponse);

const consumerOf = (name: string): Endpoint<ExecutorConsumerRequest, ExecutorConsumerResponse> => ({
  subject: executorConsumerSubject(name),
  description: 'the consumer of an executor',
  parseRequest,
  parseResponse,
});

/**
 * Creates the consumer of each executor that requests it, and of no other: the broker lets it send under its own name only. Every
 * scheduler does, also one that stands by: a second creation changes nothing.
 */
export const createExecutorConsumers = (log: EventLog): Disposable =>
  respond(log, consumerOf('*'), async ({ executor_id }, subject) => {
    const owner = executorId(executor_id);
    const name = executorName(owner);
    if (subject !== executorConsumerSubject(name)) return undefined;
    const filter = executorFilter(owner);
    await createOwnedConsumer(log, { stream: 'RUNS', name: executorConsumer(name), subject: filter, owner });
    return { exists: true };
  });

/** Requests the own consumer of an executor. False when no scheduler responds in time. */
export const requestConsumer = async (
  log: EventLog,
  executor: ExecutorId,
  withinMs: number,
): Promise<boolean> => {
  const request = { executor_id: executor };
  return (await sendRequest(log, consumerOf(executorName(executor)), request, withinMs)) !== undefined;
};
