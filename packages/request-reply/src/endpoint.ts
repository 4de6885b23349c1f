import type { Static, TSchema } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';

/** One kind of request over core NATS. Nothing is stored, and no guarantee depends on a response. */
export interface Endpoint<Request, Response> {
  readonly subject: string;
  /** What the request is for, in log messages: "the queue positions of runs". */
  readonly description: string;
  /** Undefined for what is no such request. */
  readonly parseRequest: (body: unknown) => Request | undefined;
  /** Undefined for what is no such response. */
  readonly parseResponse: (body: unknown) => Response | undefined;
}

/** A parser that gives undefined for what does not match the schema. Members of a later release are kept and ignored. */
export const parserOf = <Schema extends TSchema>(
  schema: Schema,
): ((body: unknown) => Static<Schema> | undefined) => {
  const validator = compiledSchema(schema);
  return (body) => (validator.Check(body) ? body : undefined);
};
