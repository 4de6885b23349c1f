import type { Deployment } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import {
  filteredDeployment,
  requestedDeployment,
  severalHaveName,
} from '../../../src/records/catalogue/deployment-name.decide.ts';

const named = (name: string, archived = false): Deployment =>
  ({ id: newUuid(), name, archived }) satisfies Partial<Deployment> as Deployment;

const portrait = named('portrait');
const old = named('portrait', true);
const [twin, other] = [named('twin'), named('twin')];
const [gone, goneToo] = [named('gone', true), named('gone', true)];
const all = [portrait, old, twin, other, gone, goneToo, named('late', true)];

describe('a name in a request that queues runs', () => {
  it('is that of the one deployment that is not archived', () => {
    expect(requestedDeployment(all, 'portrait')).toEqual({ kind: 'found', deployment: portrait });
    expect(requestedDeployment(all, 'Portrait')).toEqual({ kind: 'none' });
    expect(requestedDeployment(all, 'twin')).toEqual({ kind: 'several', deployments: [twin, other] });
    expect(requestedDeployment(all, 'gone')).toEqual({ kind: 'archived', deployments: [gone, goneToo] });
  });

  it.each([
    ['portrait@12', 12],
    ['portrait@0', 0],
    ['portrait@007', 7],
  ])('%s names a version', (text, number) => {
    expect(requestedDeployment(all, text)).toEqual({ kind: 'found', deployment: portrait, number });
  });

  it.each(['portrait@', 'portrait@latest', 'portrait@-1', 'portrait@1.5', '@12', 'portrait@1@2', 'port@12'])(
    '%s means nothing here',
    (text) => expect(requestedDeployment(all, text)).toMatchObject({ kind: 'none' }),
  );

  it('may have an @ itself: the last one before digits is the version, and an exact name comes first, also once it is archived', () => {
    const [at, exact] = [named('me@home'), named('portrait@12')];
    expect(requestedDeployment([at], 'me@home')).toEqual({ kind: 'found', deployment: at });
    expect(requestedDeployment([at], 'me@home@3')).toEqual({ kind: 'found', deployment: at, number: 3 });
    expect(requestedDeployment([...all, exact], 'portrait@12')).toEqual({
      kind: 'found',
      deployment: exact,
    });
    expect(requestedDeployment([exact], 'portrait@12@1')).toMatchObject({ deployment: exact, number: 1 });
    const archived = { ...exact, archived: true };
    expect(requestedDeployment([...all, archived], 'portrait@12')).toEqual({
      kind: 'archived',
      deployments: [archived],
    });
  });
});

describe('a name in a filter', () => {
  it('is exactly that of one deployment, of an archived one when no other has it', () => {
    expect(filteredDeployment(all, 'portrait')).toEqual({ kind: 'found', deployment: portrait });
    expect(filteredDeployment(all, 'late')).toMatchObject({ kind: 'found', deployment: { archived: true } });
    expect(filteredDeployment(all, 'portrait@12')).toEqual({ kind: 'none' });
    expect(filteredDeployment(all, 'gone')).toEqual({ kind: 'several', deployments: [gone, goneToo] });
    expect(filteredDeployment(all, 'twin')).toEqual({ kind: 'several', deployments: [twin, other] });
  });
});

it('names ten of those that have one name', () => {
  const many = Array.from({ length: 12 }, () => named('many'));
  const sentence = severalHaveName(many);
  expect(many.filter(({ id }) => sentence.includes(id))).toHaveLength(10);
  expect(sentence).toContain(' and 2 more. Send the id of one of them as deployment_id');
});
