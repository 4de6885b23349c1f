import { misspeltSettings } from '@runledger/service-kit/misspelt-settings';
import { describe, expect, it } from 'vitest';
import { SCHEMAS } from '../../docs/settings-page.ts';

const namesOf = ({ properties }: (typeof SCHEMAS)[keyof typeof SCHEMAS]): string[] => Object.keys(properties);
const ALL = Object.values(SCHEMAS).flatMap(namesOf);

describe.each(Object.entries(SCHEMAS))('the settings of %s', (_program, schema) => {
  it('are not suspected in a setting of another program, which may have the same environment', () => {
    const environment = Object.fromEntries(ALL.map((name) => [name, 'x']));
    expect(misspeltSettings(namesOf(schema), environment)).toEqual([]);
  });
});
