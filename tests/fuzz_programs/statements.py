"""Statements that random programs are made of: ``# name weight``, then forms, divided by blank lines.

``grammar`` says what the placeholders mean.
"""

STATEMENTS = """
# assign a number 8
<+int> = <int>

<+float> = <float>

<=int> = <int>

<+bool> = <bool>

<+scalar> = <scalar>

<+str> = <str>

# assign an array 14
<+array> = <array>

<=array> = <array>

<+any> = <any>

<+mask> = <mask>

# assign a container 8
<+ints> = <ints>

<+arrays> = <arrays>

<+table> = <table>

<+params> = <params>

<+pair> = <pair>

<+set> = <set>

# assign an object 5
<+box> = <box>

<+fi> = <fi>

<+fn> = <fn>

<+gen> = <gen>

<+agen> = <agen>

# alias 4
<+array> = <-array>

<+ints> = <-ints>

<+array:a> = <+array:b> = <array>

<+table> = <-table>

# augmented assignment 8
<=int> += <int>

<=int> -= <int>

<=int> *= <small>

<=float> += <num>

<=int> //= <small>

<=int> ^= <int>

<=str> += <key>
<=str> = <=str>[-8:]

# unpacking 6
<+int>, <+array> = <int>, <array>

<=int>, <=int> = <int>, <int>

<=array:a>, <=array:b> = <:b>, <:a>

<+int>, *<+ints> = <int>, *<ints>

*<+ints>, <+int> = [<int>, <int>, *<ints>]

<+int>, (<+int>, <+array>) = <int>, <pair>

<+int>, <+array> = <pair>

<+array>, <+array> = <arrays>

<+int:a> = <+int:b> = <int>

# in place 16
<=array> += <array>

<=array> -= <num>

<=array> *= 2

<=array> //= 2

<view>[...] = <array>

<view>[0] = <num>

<view>[:] += <num>

<view>[1:] += <int>

<view>[..., 0] = <int>

<view>[1:] = <array>[:-1]

<view>[<mask>] = <num>

<view>[::-1] += <int>

<-any>[0] += 1

np.add(<array>, <num>, out=<-array>)

<-array>.fill(<int>)

np.copyto(<-array>, <array>)

<view>.reshape(-1)[0] = <int>

<-arrays>[0] += <int>

<-params>['w'] *= 2

<-box>.data += <int>

<-box>.data[0] = <num>

<-pair>[1][...] = <num>

# change a container 14
<-ints>.append(<int>)

<-ints>.extend([<int>, <int>])

<-ints>.insert(0, <int>)

<-ints>.pop()

<-ints>[0] = <int>

<-ints>[<int>] = <int>

<-ints>[1:2] = [<int>]

<-ints>.sort()

<-ints>.reverse()

<-ints>.remove(<int>)

<-arrays>.append(<array>)

<-arrays>[0] = <array>

<-table>[<key>] = <int>

<-table>['a'] += <int>

<-table>.update(b=<int>)

<-table>.update(<table>)

<-table>.setdefault(<key>, <int>)

<-table>.pop(<key>)

<-params>['b'] = <array>

<-set>.add(<int>)

<-set>.discard(<int>)

<=ints> += [<int>]

<-params>['w'] = <-params>.get('w', <int>) + 1

<-arrays>[-1] = <-arrays>[-1] + <int>

<-table>.clear()

del <-ints>[0]

del <-table>['a']

# change an object 7
<-box>.n = <int>

<-box>.n += <int>

<-box>.data = <array>

<-box>.twice = <int>

<-box>.extra = <num>

<-box>[<int>] = <int>

<-box>.items.append(<int>)

Box.made += 1

setattr(<-box>, 'n', <int>)

<-box>.bump(<int>)

# change self 30
<-me>.n += <int>

<-me>.n = <int>

<-me>.data = <array>

<-me>.data += <int>

<-me>.items.append(<int>)

# print 4
print(<int>)

print(<str>, <float>, end=';\\n')

print(<-array>.shape, <-ints>, sep='/')

print(<int>, <array>)

print(f"{<-int>} {<-bool>}")

# if 12
if <bool>:
    <body>

if <bool>:
    <body>
else:
    <body>

if <bool>:
    <body>
elif <bool>:
    <body>
else:
    <body>

# walrus 3
if (<+int> := <int>) > <int>:
    <body>

<+array> = (<+array:w> := <array>) + 1

while (<+counter:c> := <few>) > 3 and <bool>:
    break

# branch on an array 5
if <array>.max() > <num>:
    <body>
else:
    <body>

if (<array> > <num>).any():
    <body>

# for over range 8
for <+int> in range(<few>):
    <loop>

for <~int> in range(<few>):
    <loop>
else:
    <body>

for <+int> in range(<int> % 5):
    <loop>

for <~counter> in range(70):
    <=array> = <array>

for <~int:i> in range(len(<array:x>)):
    <:x>[<:i>] = <num>

# for over a list 6
for <+int> in <ints>[:5]:
    <loop>

for <~int> in list(<ints>):
    <loop>
else:
    <body>

for <~array> in list(<arrays>):
    <loop>

for <+int> in (<int>, <int>, <int>):
    <loop>

for <~array> in (<array>, <array>):
    <loop>

# for over a dict 4
for <~str> in list(<table>):
    <loop>

for <~str>, <~int> in list(<table>.items()):
    <loop>

for <~str>, <~array> in sorted(<params>.items(), key=lambda item: item[0]):
    <loop>

for <~int> in <table>.values():
    <loop>

# for over zip or enumerate 4
for <~int>, <~array> in enumerate(<arrays>[:3]):
    <loop>

for <~int>, <~int> in zip(<ints>, <ints>):
    <loop>

for <~int>, (<~int>, <~array>) in enumerate(zip(<ints>, <arrays>)):
    <loop>

# for over an array 4
for <~any> in <array>:
    <loop>

for <~scalar> in <any>.reshape(-1)[:4]:
    <loop>

for <~int>, <~any> in enumerate(<array>):
    <loop>

# for over a generator 3
for <~int> in itertools.islice(<gen>, 5):
    <loop>

for <~array> in itertools.islice(<agen>, 4):
    <loop>

# while 6
<+counter:c> = <few>
while <:c> > 0:
    <:c> -= 1
    <loop>

<+counter:c> = 0
while <:c> < <few>:
    <:c> += 1
    <loop>
else:
    <body>

<+counter:c> = 0
while True:
    <:c> += 1
    if <:c> > <few> or <bool>:
        break
    <loop>

# leave a loop 6
break

continue

if <bool>:
    break

if <bool>:
    continue

if <array>.max() > <num>:
    break

# return 3
if <bool>:
    <return>

if <array>.min() < <num>:
    <return>

# try 9
try:
    <body>
except <error>:
    <body>

try:
    <body>
except <error> as <~exc>:
    <body>

try:
    <body>
except (<error>, <error>) as <~exc:e>:
    print(type(<:e>).__name__, str(<:e>))

try:
    <body>
except <error>:
    <body>
else:
    <body>
finally:
    <body>

try:
    <body>
finally:
    <body>

try:
    <body>
except <error>:
    <body>
except Exception as <~exc>:
    <body>

# raise 5
raise <error>(<str>)

if <bool>:
    raise <error>(<int>)

raise Wrong(<str>, <int>) from None

try:
    <body>
except Exception as <~exc:e>:
    raise <error>('again') from <:e>

try:
    <body>
except <error>:
    raise

assert <bool>, <str>

# raise in a try 5
try:
    <body>
    raise <error>(<str>)
except <error> as <~exc>:
    <body>

try:
    if <bool>:
        raise <error>(<int>)
    <body>
except (LookupError, ValueError) as <~exc:e>:
    <+str> = repr(<:e>)

for <~int> in range(<few>):
    try:
        <loop>
    except <error>:
        <loop>
    finally:
        <body>

# with 6
with Managed(<str>):
    <body>

with Managed(<str>, swallow=True):
    <body>

with Managed(<key>) as <~int>, Managed(<key>, swallow=<bool>):
    <body>

with managed(<int>) as <~int>:
    <body>

with contextlib.suppress(<error>):
    <body>

with np.errstate(all='ignore'):
    <body>

for <~int> in range(<few>):
    with Managed(<str>, swallow=<bool>):
        <loop>

# nested function 6
def <+fi>(<~int>):
    <function>
    return <int>

def <+fi>(<~int>, <~int>=<int>, *<~tail>):
    <function>
    return <int>

def <+fn>(<~array>):
    <function>
    return <array>

def <+fn>(<~array>, *, <~int>=<int>):
    <function>
    return <array>

def <+thunk:f>():
    <function>
<:f>()

# nested generator 2
def <+maker:f>(<~int>):
    <function>
    yield <int>
    <function>
    yield <int>
<+gen> = <:f>(<int>)

# call and forget 3
<fn>(<-array>)

<box>.bump(<int>)

<fi>(<int>)

# yield 14
<yield>

for <~counter> in range(<few>):
    <yield>

if <bool>:
    <yield>

# move elements 4
<-array>[0], <-array>[-1] = <-array>[-1], <-array>[0]

<-ints>[0], <=int> = <int>, <-ints>[0]

<-array>[1:] = <array>[::-1][:-1]

<-array>[<few>], <=int> = <int>, <few>

<+array>, <-arrays>[0] = <-arrays>[0], <array>

<-arrays>[0] += <-arrays>[-1]

<=array> = <=array>; <-array>[...] = <=array>

<-params>['w'], <-params>['b'] = <-params>['b'], <-params>['w']

<-array>[<ints>] = <num>

<-array>[...] = <-array>[::-1] + <-array>

<-array>.sort()

np.put(<-array>, 0, <int>)

np.add.at(<-array>, 0, <int>)

<-array>.T[...] = <num>

<-array>.reshape(-1)[1:] -= <-array>.reshape(-1)[:-1]

# loop on values 4
<+array:w> = <array:a> % 4
<+counter:c> = 6
while <:w>.max() > <few> and <:c>:
    <:w> = <:w> - 1
    <:c> -= 1
    <loop>

<+counter:c> = 4
while (<:c> := <:c> - 1) and <bool>:
    <loop>

for <~int:i> in range(12):
    if <-array>.max() > <:i>:
        break
    <-array:x> += <:i>

for <~counter> in range(<few>):
    <+array:t> = <array>
    if <:t>.min() < <num>:
        continue
    <=array> = <:t> + 1

for <~int> in iter(lambda: <int> % 3, 1):
    break

<+int:t> = 0
for <~int:i> in range(20):
    <:t> += <:i> * <small>
    if <:t> > <int>:
        break
else:
    <body>

<+array:t> = <array>
for <~int:i> in range(6):
    <:t> = <:t> + <:i>

# change what is iterated 2
for <~int:v> in <-ints:l>:
    if len(<:l>) < 9:
        <:l>.append(<:v>)
    <loop>

for <~str:k> in <-table:t>:
    <:t>[<key>] = <int>
    <loop>

for <~int:v> in <-ints:l>:
    <:l>.remove(<:v>)

for <~array:v> in <-arrays>:
    <:v> += 1

for <~array:v> in <-arrays>:
    <:v>[...] = <num>

# leave through finally 4
for <~int> in range(<few>):
    try:
        <loop>
        break
    finally:
        <loop>

for <~int> in range(<few>):
    try:
        <loop>
    finally:
        continue

for <~int> in range(<few>):
    with Managed(<key>, swallow=<bool>):
        <loop>
        continue

try:
    <body>
    <return>
finally:
    <body>

try:
    raise <error>(<int>)
except <error>:
    <return>
finally:
    <body>

try:
    try:
        <body>
        raise <error>(<int>)
    finally:
        <body>
except <error> as <~exc:e>:
    <+str> = str(<:e>.__context__)

try:
    try:
        raise <error>(<int>)
    except <error>:
        raise <error>(<str>)
except Exception as <~exc:e>:
    print(repr(<:e>), repr(<:e>.__context__), repr(<:e>.__cause__))

with Managed(<str>, swallow=<bool>):
    with Managed(<str>):
        raise <error>(<str>)

with contextlib.ExitStack() as stack:
    stack.enter_context(Managed(<str>))
    <body>

with Failing(<bool>, <bool>):
    <body>

while True:
    try:
        <body>
    except <error>:
        <body>
    break

# exception groups 1
try:
    raise ExceptionGroup('many', [<error>(<int>), <error>(<str>)])
except* <error> as <~exc:e>:
    print(len(<:e>.exceptions))
except* Exception:
    <body>

# keep an exception 2
try:
    <body>
except Exception as <~exc:e>:
    <+failure> = <:e>

<+failure:f> = <error>(<int>)
try:
    raise <:f>
except <error>:
    <body>

# decorate 2
@traced
def <+fi>(<~int>):
    <function>
    return <int>

@functools.lru_cache(maxsize=None)
def <+fi>(<~int>):
    return <int>

@functools.wraps(<fi>)
def <+fi>(*<~tail:a>, **<~table:k>):
    <function>
    return len(<:a>) + len(<:k>)

# local class 2
class <+local:c>(Box):
    <~int:k> = <int>
    def total(self):
        return self.n + self.<:k>
<+box> = <:c>(<int>, <array>)

<+point:p> = Point(<int>, <array>)
<+int>, <+array> = <:p>

<+point:p> = Point(<num>, y=<array>)._replace(x=<int>)
<+array> = <:p>.y + <:p>.x

<+record:r> = Record(<int>)
<:r>.data.append(<array>)
<:r>.n += <int>
<+array> = <:r>.data[0]

<+slotted:s> = Slotted(<int>, <array>)
<:s>.n = <:s>.n + <int>
<:s>.data[...] = <:s>.n
<+int> = <:s>.n

<+lazy:z> = Lazy({'a': <int>, 'w': <array>})
<+int>, <+array> = <:z>.a, <:z>.w
<:z>.b = <int>

# drive a generator 3
<+driven:g> = echo(<int>)
<+num> = next(<:g>)
<+num> = <:g>.send(<int>)
<:g>.close()

<+driven:g> = echo(<array>)
next(<:g>)
try:
    <:g>.throw(<error>(<str>))
except Exception as <~exc:e>:
    print(type(<:e>).__name__)

<+array> = sum(running(<arrays>))

<+ints> = [*<gen>][:5]

<+driven:g> = running(<arrays>)
for <~array> in <:g>:
    <loop>

# star calls 2
<+int> = many(*<ints>[:4])

<+int> = many(<int>, *<ints>[:3], k=<int>, **<table>)

<+int> = many(*<ints>[:2], *(<int>,), **{'z': <int>})

<+int> = recursive(<few>, <int>)

<+array> = halved(<array>, <few>)

# del 2
del <=int>

del <=array>

del <=ints>

# match 4
match <num>:
    case 0 | 1:
        <body>
    case int(<~int>) if <bool>:
        <body>
    case float():
        <body>
    case _:
        <body>

match <ints>:
    case []:
        <body>
    case [<~int>]:
        <body>
    case [<~int>, *<~ints>]:
        <body>

match <table>:
    case {'a': <~int>, **<~table>}:
        <body>
    case _:
        <body>

match <box>:
    case Child(n=<~int>):
        <body>
    case Box(n=0):
        <body>

match <str>:
    case 'a' | 'b' as <~str>:
        <body>
    case <~str>:
        <body>

# closures in a loop 2
<+fis:f> = [lambda <~int:k>=<~int:j>: <:k> + <:j> for <:j> in range(<few>)]
for <~fi> in <:f>:
    <body>

# break on purpose 3
capture.graph_break()

sys.stdout.write(<str>)

str(<array>)

# read variables by name 0.2
locals()

<+int> = vars(<box>)['n']
"""
