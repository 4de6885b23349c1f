import { describe, expect, it } from 'vitest';
import { fileHeaders } from '../../../src/files/send-file.ts';

const headersOf = (content_type: string, filename = 'a.bin') =>
  fileHeaders({
    filename,
    content_type,
    bytes: 1,
    sha256: 'ab',
    stored_at: '2026-01-01T00:00:00.000Z',
  });

describe('an output file', () => {
  it.each([
    ['image/png', 'inline'],
    ['image/svg+xml', 'attachment'],
    ['image/svg', 'attachment'],
    ['video/mp4', 'inline'],
    ['audio/mpeg', 'inline'],
    ['text/plain; charset=utf-8', 'inline'],
    ['text/html', 'attachment'],
    ['text/css', 'attachment'],
    ['application/json', 'attachment'],
    ['application/pdf', 'attachment'],
    ['application/octet-stream', 'attachment'],
  ])('is served by type: %s as %s', (type, disposition) => {
    expect(headersOf(type)['Content-Disposition']).toBe(`${disposition}; filename=a.bin`);
  });

  it('is sandboxed', () => {
    const headers = headersOf('image/png');
    expect(headers['Content-Security-Policy']).toMatch(/^sandbox; default-src 'none'/);
    expect(headers['X-Content-Type-Options']).toBe('nosniff');
  });

  it('keeps a name that is not ASCII', () => {
    expect(headersOf('image/png', 'Zürich "1".png')['Content-Disposition']).toMatch(
      /filename\*=UTF-8''Z%C3%BCrich/,
    );
  });
});
