import { expect } from 'vitest';
import type { RealGateway } from './a-real-gateway.ts';
import type { Person } from './in-process.ts';

interface Made {
  readonly id: string;
}

export interface Catalogue {
  /** What the command prints with `--json`. */
  readonly json: (args: readonly string[], person?: Person) => Promise<Made>;
  readonly aMachine: () => Promise<Made>;
  readonly aWorkflow: () => Promise<Made>;
}

/** Makes what the tests of the catalogue begin with, by the command itself. */
export const catalogueOf = ({ cli }: RealGateway): Catalogue => {
  const json = async (args: readonly string[], person?: Person): Promise<Made> => {
    const result = await cli([...args, '--json'], person);
    expect(result).toMatchObject({ code: 0 });
    return JSON.parse(result.stdout);
  };
  return {
    json,
    aMachine: () =>
      json(['machines', 'create', '--name', 'node', '--gpu', 'A100', '--program', 'render-image']),
    aWorkflow: () => json(['workflows', 'create', '--name', 'portraits']),
  };
};

export const publish = (workflow: Made, ...args: string[]): string[] => [
  'workflows',
  'publish',
  workflow.id,
  ...args,
];
