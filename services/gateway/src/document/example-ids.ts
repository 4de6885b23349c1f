import { EXAMPLE_IDS } from '@runledger/contracts/http/fields';
import { list } from '@runledger/service-kit/config-schemas';
import { Type } from 'typebox';
import type { Operation } from '../door/operation.ts';

const NAMES = Object.keys(EXAMPLE_IDS).join('|');
const ITEM = `^(?:${NAMES})=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`;

/** To spread into the configuration schema. */
export const exampleIdsConfig = {
  RUNLEDGER_EXAMPLE_IDS: list(Type.String({ pattern: ITEM }), {
    default: [],
    description:
      'records that exist, for the examples of the OpenAPI document, such as deployment_id=01a21460-0004-7000-8000-000000000004; everybody can read the document',
  }),
};

type Described = Pick<Operation, 'request' | 'response'>;

/** The operations with examples that name these records: what the document shows can be sent as it stands. */
export const withExampleIds = (operations: readonly Operation[], given: readonly string[]): Operation[] => {
  const known = new Map(given.map((item): [string, string] => [item.split('=')[0] ?? '', item.slice(-36)]));
  if (known.size === 0) return [...operations];
  return operations.map((operation) => {
    const { request, response } = operation;
    const text = Object.entries(EXAMPLE_IDS).reduce(
      (json, [name, id]) => json.replaceAll(id, known.get(name) ?? id),
      JSON.stringify({ request, response } satisfies Described),
    );
    // Schemas are plain JSON, and another id is as long a text.
    const named: Described = JSON.parse(text);
    return { ...operation, ...named };
  });
};
