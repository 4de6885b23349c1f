import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { numberedFileName, problemOfFileName, safeFileName } from '../src/file-name.ts';
import { anyCharacter } from './fixtures/any-character.ts';

describe('a safe file name', () => {
  it.each([
    ['photo.png', 'photo.png'],
    ['Foto vom März.JPG', 'Foto vom März.JPG'],
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\x.png', 'x.png'],
    ['..', 'file'],
    ['', 'file'],
    ['.hidden', 'hidden'],
    ['-rf', 'rf'],
    ['con', '_con'],
    ['CON.png', '_CON.png'],
    ['a\u0000b\n.png', 'a_b_.png'],
    ['a:b*c?.png', 'a_b_c_.png'],
    ['name. . ', 'name'],
    ['\ud800.png', '_.png'],
  ])('of %j is %j', (given, expected) => {
    expect(safeFileName(given)).toBe(expected);
  });

  it('has the extension of its type when it has none', () => {
    expect(safeFileName('photo', 'image/png')).toBe('photo.png');
    expect(safeFileName('', 'image/jpeg; q=1')).toBe('file.jpg');
    expect(safeFileName('photo.webp', 'image/png')).toBe('photo.webp');
    expect(safeFileName('con', 'image/png')).toBe('_con.png');
  });

  it('is short, and keeps its extension', () => {
    expect(safeFileName(`${'x'.repeat(300)}.safetensors`)).toBe(`${'x'.repeat(168)}.safetensors`);
  });

  it('is one visible part of a path, however it was named', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.constantFrom('', 'image/png'), (given, type) => {
        const name = safeFileName(given, type);
        expect(name).toMatch(/^[\p{L}\p{M}\p{N}_][\p{L}\p{M}\p{N}._ -]*$/u);
        expect(name).not.toMatch(/[. ]$/);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
        expect(safeFileName(name, type)).toBe(name);
      }),
    );
  });

  it('can be numbered', () => {
    expect(numberedFileName('photo.png', 2)).toBe('photo-2.png');
    expect(numberedFileName('photo', 2)).toBe('photo-2');
  });
});

describe('the name of an output file', () => {
  it.each([
    ['', 'names no file'],
    ['.', 'names no file'],
    ['..', 'names no file'],
    ['x'.repeat(256), 'is longer than 255 characters'],
    ['a/b', 'holds a slash or a backslash'],
    ['a\\b', 'holds a slash or a backslash'],
    ['a\nb', 'holds control characters or is not valid Unicode'],
    ['a\u2028b', 'holds control characters or is not valid Unicode'],
    ['a\ufffdb', 'holds control characters or is not valid Unicode'],
    ['a\ud800', 'holds control characters or is not valid Unicode'],
    ['a\u202egnp.exe', 'holds marks that change the direction of text'],
  ])('%j %s', (name, problem) => {
    expect(problemOfFileName(name)).toBe(problem);
  });

  it.each(['image 1.png', 'März.JPG', '.hidden', '-rf', '圖.webp', 'x'.repeat(255)])('may be %j', (name) => {
    expect(problemOfFileName(name)).toBeNull();
  });
});
