import { RunFilter } from '@runledger/contracts/http/runs/runs';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { addRunFilter } from '../../src/runs/run-options.ts';

it('has an option for each member of the filter of the API', () => {
  const options = addRunFilter(new Command()).options.map(({ long }) => long?.slice(2).replaceAll('-', '_'));
  const members = Object.keys(RunFilter.properties).map((name) => name.replace(/_id$/, ''));
  expect(new Set(options)).toEqual(new Set(members));
});
