/** docs/openapi.json: the run API as an OpenAPI document, from which the clients are made. A gateway serves the same with its own address. */
import { describedOperations } from '@runledger/gateway/door/operation';
import { openApiDocument } from '@runledger/gateway/document/document';
// Loads every operation.
import '@runledger/gateway/start';

/** That of a standalone. */
const SERVER = 'http://127.0.0.1:8080/api';

/** The operations in the order of their paths. A gateway serves them in the order of its routes. */
export const openApiPage = (): string => {
  const ordered = describedOperations().toSorted((one, other) =>
    one.path === other.path ? order(one.method, other.method) : order(one.path, other.path),
  );
  return `${JSON.stringify(openApiDocument(ordered, SERVER), null, 2)}\n`;
};

const order = (one: string, other: string): number => (one < other ? -1 : 1);
