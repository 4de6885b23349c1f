import { Type, type Static } from 'typebox';
import { EXECUTOR_ID_PATTERN } from '../ids.ts';

/** The durable name of the consumer on RUNS of all executors of a name, one after the other. */
export const executorConsumer = (name: string): string => `executor-${name}`;

/** The name of the executor whose consumer it is; undefined for that of another service. */
export const executorOfConsumer = (consumer: string): string | undefined =>
  /^executor-([A-Za-z0-9_-]+)$/.exec(consumer)?.[1];

/** An executor of this name requests its consumer here, and no other: the name is a part of the subject. `*` for all. */
export const executorConsumerSubject = (name: string): string => `request.scheduler.consumer.${name}`;

/** The consumer on RUNS of an executor, by which it receives what is addressed to it. Any scheduler creates it. */
export const ExecutorConsumerRequest = Type.Object({
  executor_id: Type.String({ pattern: EXECUTOR_ID_PATTERN }),
});
export type ExecutorConsumerRequest = Static<typeof ExecutorConsumerRequest>;

/** There is a consumer of the executor's name now. It may be that of another process of the name. */
export const ExecutorConsumerResponse = Type.Object({ exists: Type.Literal(true) });
export type ExecutorConsumerResponse = Static<typeof ExecutorConsumerResponse>;
