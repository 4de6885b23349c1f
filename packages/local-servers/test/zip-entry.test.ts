import { describe, expect, it } from 'vitest';
import { readZipEntry } from '../src/wheel-program.ts';

// Made with Python's zipfile: stored.txt as it is, packed/deflated.txt compressed.
const zip = Buffer.from(
  'UEsDBBQAAAAAAAAAIQCzJE6WCAAAAAgAAAAKAAAAc3RvcmVkLnR4dGFzIGl0IGlzUEsDBBQAAAAIAAAAIQAfqHSVDwAAAMgAAAATAAAAcGFja2VkL2Rl' +
    'ZmxhdGVkLnR4dEtMT8zMU0jMS1FIHNIsAFBLAQIUAxQAAAAAAAAAIQCzJE6WCAAAAAgAAAAKAAAAAAAAAAAAAACAAQAAAABzdG9yZWQudHh0UEsBAhQD' +
    'FAAAAAgAAAAhAB+odJUPAAAAyAAAABMAAAAAAAAAAAAAAIABMAAAAHBhY2tlZC9kZWZsYXRlZC50eHRQSwUGAAAAAAIAAgB5AAAAcAAAAAAA',
  'base64',
);

describe('an entry of a zip archive', () => {
  it('is read whether it is stored or compressed', () => {
    expect(readZipEntry(zip, 'stored.txt')?.toString()).toBe('as it is');
    expect(readZipEntry(zip, 'packed/deflated.txt')?.toString()).toBe('again and '.repeat(20));
  });

  it('is undefined if the name does not exist', () => {
    expect(readZipEntry(zip, 'absent.txt')).toBeUndefined();
  });

  it('is refused if its bytes were changed', () => {
    const damaged = Buffer.from(zip);
    damaged.write('at', damaged.indexOf('as it is'));
    expect(() => readZipEntry(damaged, 'stored.txt')).toThrow('stored.txt is damaged');
  });

  it('is refused if the file is not a zip archive', () => {
    expect(() => readZipEntry(Buffer.from('<html>'), 'stored.txt')).toThrow('not a zip archive');
  });
});
