import { brokerUsers } from '@runledger/standalone/keys';
import { describe, expect, it } from 'vitest';
import { forbiddenTo } from '../src/faults/trespass.ts';

const EXECUTORS = ['box1', 'box2', 'box3'];
const fits = (subject: string, pattern: string): boolean => {
  const [tokens, wanted] = [subject.split('.'), pattern.split('.')];
  const isOpen = wanted.at(-1) === '>';
  if (isOpen ? tokens.length < wanted.length : tokens.length !== wanted.length) return false;
  return wanted.every((token, at) => token === '>' || token === '*' || token === tokens[at]);
};

describe.each(brokerUsers(EXECUTORS).filter(({ name }) => name !== 'operator'))(
  '$name',
  ({ name, permissions }) => {
    const forbidden = forbiddenTo(name, EXECUTORS);

    it('tries each forbidden thing once, and nothing that it may do', () => {
      const subjects = forbidden.map(({ subject }) => subject);
      expect(new Set(subjects).size).toBe(subjects.length);
      for (const { action, subject } of forbidden)
        expect(
          permissions[action].allow.filter((pattern) => fits(subject, pattern)),
          subject,
        ).toEqual([]);
    });
  },
);
