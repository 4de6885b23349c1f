import { afterAll, beforeAll, expect } from 'vitest';
import { aRealGateway } from './a-real-gateway.ts';
import type { RealGateway } from './a-real-gateway.ts';
import type { Person } from './in-process.ts';

interface Made {
  readonly id: string;
}

interface Catalogue extends Pick<RealGateway, 'cli' | 'read'> {
  /** What the command prints with `--json`. */
  readonly json: (args: readonly string[], person?: Person) => Promise<Made>;
  readonly aMachine: () => Promise<Made>;
  readonly aWorkflow: () => Promise<Made>;
  /** The arguments that publish a version. */
  readonly publish: (workflow: Made, ...args: string[]) => string[];
}

/** A real gateway for the tests of a file, and what they begin with, made by the command itself. */
export const aCatalogue = (): Catalogue => {
  let gateway: RealGateway;
  beforeAll(async () => {
    gateway = await aRealGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());
  const json = async (args: readonly string[], person?: Person): Promise<Made> => {
    const result = await gateway.cli([...args, '--json'], person);
    expect(result).toMatchObject({ code: 0 });
    return JSON.parse(result.stdout);
  };
  return {
    cli: (args, person) => gateway.cli(args, person),
    read: (path) => gateway.read(path),
    json,
    aMachine: () =>
      json(['machines', 'create', '--name', 'node', '--gpu', 'A100', '--program', 'render-image']),
    aWorkflow: () => json(['workflows', 'create', '--name', 'portraits']),
    publish: (workflow, ...args) => ['workflows', 'publish', workflow.id, ...args],
  };
};
