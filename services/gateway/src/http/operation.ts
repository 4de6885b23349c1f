import type { KeyScope } from '@runledger/contracts/catalogue/records';
import type { JsonValue } from '@runledger/contracts/json';
import type { Context } from 'koa';
import type { Static, TObject, TSchema } from 'typebox';
import type { Caller } from '../auth/identify-caller.ts';
import type { Invalid } from './refusal.ts';

/** What a request brings, each with its schema. */
export interface Taken {
  readonly path?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  readonly body?: TSchema;
}

export interface Success {
  readonly status: 200 | 201 | 204;
  readonly description: string;
  /** Undefined for an answer that the operation writes by itself, or that has no body. */
  readonly body?: TSchema;
  /** Of what the operation writes by itself. */
  readonly contentType?: string;
  /** What stands in a stream of events: the document names them, though it cannot say where they are. */
  readonly events?: readonly TSchema[];
  /** Nothing on the way may keep the answer. */
  readonly holdsSecret?: true;
}

/** Refusals that do not follow from what the operation takes. */
type OwnRefusal = 404 | 409;

/** One operation of the API: the router, the checks of a request and the OpenAPI document are made from it. */
export interface Operation<Takes extends Taken = Taken, Gives extends Success = Success> {
  /** The name of the function in a generated client. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Under the base path, with parameters in braces: `/run/{run_id}`. */
  readonly at: string;
  readonly tag: 'Runs' | 'Webhooks' | 'Catalogue' | 'API keys' | 'Executors';
  readonly summary: string;
  readonly description?: string;
  /** What the API key must be good for. */
  readonly scope: KeyScope;
  readonly takes: Takes;
  /** The body may be left out. */
  readonly bodyMayMiss?: true;
  readonly gives: Gives;
  /** Other answers that are no refusals, such as 204 instead of a stream. */
  readonly also?: Readonly<Record<number, string>>;
  readonly refuses: readonly OwnRefusal[];
}

type Fields<Schema> = Schema extends TSchema ? Static<Schema> : undefined;

/** A request that was checked; UUIDs in its path and query are in lower case. */
export interface Given<Takes extends Taken> {
  readonly path: Fields<Takes['path']>;
  readonly query: Fields<Takes['query']>;
  readonly headers: Fields<Takes['headers']>;
  readonly body: Fields<Takes['body']>;
}

type Body<Gives extends Success> = Gives['body'] extends TSchema ? Static<Gives['body']> : void;

/** What an operation does. It throws `Refused` for what a client is told instead of an answer. */
export type Handle<Takes extends Taken, Gives extends Success> = (
  given: Given<Takes>,
  caller: Caller,
  ctx: Context,
) => Promise<Body<Gives>>;

/** A request whose parts were read, and may not fit their schemas. */
interface Unchecked {
  readonly query: unknown;
  readonly body: JsonValue | undefined;
}

/** What is wrong with a request beyond what its schemas say; told together with what they say. */
export type AlsoCheck = (given: Unchecked) => readonly Invalid[];

export interface Route {
  readonly operation: Operation;
  readonly also: AlsoCheck | undefined;
  readonly handle: Handle<Taken, Success>;
}

/** Describes an operation; the types of what it takes and gives are kept. */
export const operation = <const Takes extends Taken, const Gives extends Success>(
  described: Operation<Takes, Gives>,
): Operation<Takes, Gives> => described;

/** Says what an operation does. */
export const route = <Takes extends Taken, Gives extends Success>(
  described: Operation<Takes, Gives>,
  handle: Handle<Takes, Gives>,
  also?: AlsoCheck,
): Route => ({ operation: described, also, handle });
