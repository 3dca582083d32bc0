<!DOCTYPE html>
<html>
<head><title>Fortunes</title></head>
<body>
<table>
<tr><th>id</th><th>message</th></tr>
% for number, message in fortunes:
<tr><td>{{number}}</td><td>{{message}}</td></tr>
% end
</table>
</body>
</html>
