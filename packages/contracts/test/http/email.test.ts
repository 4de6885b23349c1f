import { Value } from 'typebox/value';
import { expect, it } from 'vitest';
import { Email } from '../../src/http/accounts.ts';

it.each([
  'ada@example.com',
  'a.b+c@mail.example.co',
  "o'neil@example.com",
  'owner@standalone.local',
  'A_1@x-y.de',
])('is an e-mail: %s', (text) => expect(Value.Check(Email, text)).toBe(true));

it.each([
  'ada',
  'ada@localhost',
  'ada@examplexcom',
  '.ada@example.com',
  'a..b@example.com',
  'ada.@example.com',
  'a b@example.com',
  'ada@example.com\n',
  'ada@-x.com',
  'ada@@example.com',
  `${'a'.repeat(250)}@example.com`,
])('is no e-mail: %j', (text) => expect(Value.Check(Email, text)).toBe(false));
