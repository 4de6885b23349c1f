/** The schemas of docs/asyncapi.json. */
import { BlobRef } from '@runledger/contracts/blobs';
import { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { Placement } from '@runledger/contracts/events/placement';
import { StoredRetryOn, AttemptError } from '@runledger/contracts/events/run-error';
import { RUN_EVENTS } from '@runledger/contracts/events/run-event';
import { RunOutput, RunQueuedData, StoredFile } from '@runledger/contracts/events/run-event-data';
import { GpuFallbacks } from '@runledger/contracts/run-options';
import { RunnerChoice } from '@runledger/contracts/catalogue/runners';
import type { MessageDescription } from './message-descriptions.ts';

export type Json = Readonly<Record<string, unknown>>;

/** What several messages contain. The code has no names in its schemas, so they are found by what they say. */
const SHARED = {
  AttemptError,
  BlobRef,
  DeliveryAttemptResult,
  GpuFallbacks,
  Placement,
  RetryOn: StoredRetryOn,
  RunnerChoice,
  RunOutput,
  RunQueuedData,
  StoredFile,
  Writer: RUN_EVENTS.RunQueued.schema.properties.writer,
};
const NAMES = new Map(Object.entries(SHARED).map(([name, schema]) => [JSON.stringify(schema), name]));

export const schemaReference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** A reference, where the schema is a shared one. */
const write = (schema: unknown): unknown => {
  const name = NAMES.get(JSON.stringify(schema));
  return name === undefined ? definition(schema) : schemaReference(name);
};

/** Generators of types need the type of the values of an enum, and all of ours are text. */
const definition = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(write);
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema).map(([name, member]) => [name, write(member)] as const);
  return Object.fromEntries(Array.isArray(schema['enum']) ? [['type', 'string'], ...members] : members);
};

/** Each by its name: those that are shared, those of messages, and those of the `data` of events. */
export const messageSchemas = (messages: readonly MessageDescription[]): Json =>
  Object.fromEntries(
    [
      ...Object.entries(SHARED).map(([name, schema]): [string, unknown] => [name, definition(schema)]),
      ...messages.flatMap(({ name, schema }): [string, unknown][] => {
        const { data, ...properties } = schema.properties;
        if (!data) return [[name, definition(schema)]];
        const members = { ...properties, data: schemaReference(`${name}Data`) };
        return [
          [`${name}Data`, definition(data)],
          [name, { ...(definition(schema) as Json), properties: definition(members) }],
        ];
      }),
    ].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
